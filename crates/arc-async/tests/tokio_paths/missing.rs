//! The paths of tokio's that are not here, and the reason.

/// Each row: the paths, and why they are missing, or what is there instead.
pub const MISSING: &[(&[&str], &str)] = &[
    (
        &["fs::symlink_dir", "fs::symlink_file"],
        "they are there on Windows, where the test does not look",
    ),
    (&["task::block_in_place"], "a worker of arc cannot hand its queue on; use `spawn_blocking`"),
    (
        &["task::coop::RestoreOnPending", "task::coop::poll_proceed"],
        "the runtime keeps the budget to itself: use `consume_budget` and `cooperative`",
    ),
    (
        &["time::advance", "time::pause", "time::resume"],
        "they are there with the feature `sim`, and work in simulations alone",
    ),
    (&["time::error::Error"], "no timer of arc fails"),
    (
        &["io::bsd", "io::bsd::Aio", "io::bsd::AioEvent", "io::bsd::AioSource"],
        "FreeBSD's asynchronous file operations; the driver does not ask for their events",
    ),
    (
        &[
            "net::windows",
            "net::windows::named_pipe",
            "net::windows::named_pipe::ClientOptions",
            "net::windows::named_pipe::NamedPipeClient",
            "net::windows::named_pipe::NamedPipeServer",
            "net::windows::named_pipe::PipeEnd",
            "net::windows::named_pipe::PipeInfo",
            "net::windows::named_pipe::PipeMode",
            "net::windows::named_pipe::ServerOptions",
        ],
        "Windows' named pipes are not sockets, and the driver waits for sockets",
    ),
    (
        &[
            "signal::windows",
            "signal::windows::CtrlBreak",
            "signal::windows::CtrlC",
            "signal::windows::CtrlClose",
            "signal::windows::CtrlLogoff",
            "signal::windows::CtrlShutdown",
            "signal::windows::ctrl_break",
            "signal::windows::ctrl_c",
            "signal::windows::ctrl_close",
            "signal::windows::ctrl_logoff",
            "signal::windows::ctrl_shutdown",
        ],
        "arc-util has signals on Unix alone; the crate ctrlc is a way on Windows",
    ),
];
