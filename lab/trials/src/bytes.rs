//! Streams of bytes that both ends know: what is received can be told from anything else.

/// The bytes of the stream that is called `seed`, from `offset` on.
pub fn fill(seed: u64, offset: u64, buffer: &mut [u8]) {
    for (position, byte) in (offset..).zip(buffer) {
        *byte = at(seed, position);
    }
}

/// Where `received`, which begins at `offset`, is not what was sent.
pub fn differs(seed: u64, offset: u64, received: &[u8]) -> Option<u64> {
    let mut both = (offset..).zip(received);
    both.find(|&(position, &byte)| byte != at(seed, position)).map(|(position, _)| position)
}

fn at(seed: u64, position: u64) -> u8 {
    let word = (seed ^ (position / 8)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word.to_le_bytes()[(position % 8) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_that_is_lost_changed_or_out_of_order_is_seen() {
        let mut sent = [0; 100];
        fill(7, 1000, &mut sent);
        assert_eq!(differs(7, 1000, &sent), None);
        assert_eq!(differs(7, 1001, &sent[1..]), None);
        assert!(differs(7, 1001, &sent).is_some());
        assert!(differs(8, 1000, &sent).is_some());
        sent[50] ^= 1;
        assert_eq!(differs(7, 1000, &sent), Some(1050));
    }
}
