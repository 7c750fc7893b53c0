//! What the servers do.

use clap::ValueEnum;

/// What the servers do, and what they are asked.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Workload {
    /// an HTTP/1 server with hyper
    Hyper,
    /// 64 bytes come back
    Echo,
    /// hyper; one request in 100 computes for 2 ms, latencies are those of the others
    Mixed,
    /// hyper, 2,000 requests/s; now and then one blocks its thread for 1 s, latencies are
    /// those of the others
    Blocked,
}

impl Workload {
    /// As on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().expect("none is hidden").get_name().to_owned()
    }

    /// What the names of its servers' programs begin with.
    pub fn program(self) -> &'static str {
        match self {
            Self::Hyper | Self::Mixed | Self::Blocked => "http",
            Self::Echo => "echo",
        }
    }

    /// Whether any HTTP load generator can load it.
    pub fn is_plain_http(self) -> bool {
        matches!(self, Self::Hyper)
    }

    /// Whether there is such a server.
    pub fn has(self, peer: &str) -> bool {
        match peer {
            "go" => self.program() == "http",
            "may" => self.program() != "http",
            _ => true,
        }
    }
}
