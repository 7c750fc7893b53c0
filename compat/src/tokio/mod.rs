//! tokio's IO traits and tokio's context.
//!
//! | what is asked for | arc-compat has | feature | it starts |
//! |---|---|---|---|
//! | tokio's IO traits, of a stream with futures-io's | `Compat` | `tokio-io` | nothing |
//! | futures-io's traits, of a stream with tokio's | `Compat` | `tokio-io` | nothing |
//! | a tokio runtime around a future | `enter` | `tokio-rt` | a runtime of one thread |

#[cfg(feature = "tokio-io")]
mod compat;
#[cfg(feature = "tokio-rt")]
mod enter;

#[cfg(feature = "tokio-io")]
pub use compat::Compat;
#[cfg(feature = "tokio-rt")]
pub use enter::{Enter, enter, handle};
