//! What RFC 9112 asks of a request's Host header in its section 3.2. A server that does not look
//! may take a request for another host than the proxy before it did.

/// Whether a request has the Host headers that it must have: one, or none with HTTP/1.0.
pub fn is_right<'a>(is_http_1_0: bool, hosts: impl IntoIterator<Item = &'a [u8]>) -> bool {
    let mut hosts = hosts.into_iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => is_host_and_port(host),
        (Some(_), Some(_)) => false,
        (None, _) => is_http_1_0,
    }
}

/// Whether this is a host, and perhaps a port. It may be empty: some URLs have no host.
fn is_host_and_port(value: &[u8]) -> bool {
    let end_of_ip = value.iter().position(|&byte| byte == b']').filter(|_| value[0] == b'[');
    let (is_host, rest) = match end_of_ip {
        Some(end) => (is_ip_in_brackets(&value[1..end]), &value[end + 1..]),
        None => {
            let colon = value.iter().position(|&byte| byte == b':');
            let (name, rest) = value.split_at(colon.unwrap_or(value.len()));
            (is_name(name), rest)
        }
    };
    let is_port = match rest {
        [] => true,
        [b':', port @ ..] => port.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_host && is_port
}

/// An address of IPv6, or of a version that is still to come, such as `v7.x`.
fn is_ip_in_brackets(address: &[u8]) -> bool {
    match address {
        [b'v' | b'V', version @ ..] => {
            let dot = version.iter().position(|&byte| byte == b'.');
            dot.is_some_and(|dot| {
                let (digits, rest) = (&version[..dot], &version[dot + 1..]);
                let is_version = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
                is_version
                    && !rest.is_empty()
                    && rest.iter().all(|&byte| is_plain(byte) || byte == b':')
            })
        }
        _ => str::from_utf8(address).is_ok_and(|text| text.parse::<std::net::Ipv6Addr>().is_ok()),
    }
}

/// A name, or an address of IPv4, which looks like one.
fn is_name(name: &[u8]) -> bool {
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        let is_right = match byte {
            b'%' => {
                bytes.next().is_some_and(u8::is_ascii_hexdigit)
                    && bytes.next().is_some_and(u8::is_ascii_hexdigit)
            }
            byte => is_plain(byte),
        };
        if !is_right {
            return false;
        }
    }
    true
}

/// What RFC 3986 calls unreserved or a sub-delimiter.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte)
}
