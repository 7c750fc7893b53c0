//! tokio's IO traits, and a tokio runtime for futures that need one.
//!
//! | required | arc-compat provides | feature | starts |
//! |---|---|---|---|
//! | tokio's IO traits, for a stream with futures-io's | `Compat` | `tokio-io` | nothing |
//! | futures-io's traits, for a stream with tokio's | `Compat` | `tokio-io` | nothing |
//! | a tokio runtime, for those of arc-util | nothing | `tokio-rt` | three threads |
//! | a tokio runtime, for those of arc-runtime | `everywhere` | `tokio-rt` | the same |
//! | a tokio runtime around a future | `enter` | `tokio-rt` | the same |

#[cfg(feature = "tokio-io")]
mod compat;
#[cfg(feature = "tokio-rt")]
mod enter;
#[cfg(feature = "tokio-rt")]
mod everywhere;

#[cfg(feature = "tokio-io")]
pub use compat::Compat;
#[cfg(feature = "tokio-rt")]
pub use enter::{Enter, enter, handle};
#[cfg(feature = "tokio-rt")]
pub use everywhere::{BuilderExt, everywhere};
