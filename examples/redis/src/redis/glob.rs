//! Patterns of names, as redis has them: `*`, `?`, `[a-z]`, `[^a-z]`, and a backslash
//! before what stands for itself.

/// Whether the whole name is of the pattern.
///
/// When a byte does not fit, only the last star is tried again, a byte further: those
/// before it cannot do any better. So it takes no more than the product of the lengths.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pattern, mut name) = (pattern, name);
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', rest @ ..] = pattern {
            star = Some((rest, name));
            pattern = rest;
            continue;
        }
        match (one(pattern, name.first()), &mut star) {
            (Some(rest), _) => {
                if name.is_empty() {
                    return true;
                }
                pattern = rest;
                name = &name[1..];
            }
            (None, Some((after, from))) if !from.is_empty() => {
                *from = &from[1..];
                (pattern, name) = (after, from);
            }
            (None, _) => return false,
        }
    }
}

/// What is left of the pattern when its first element is for this byte; the empty
/// pattern is for the end.
fn one<'a>(pattern: &'a [u8], byte: Option<&u8>) -> Option<&'a [u8]> {
    let Some(&byte) = byte else {
        return pattern.is_empty().then_some(pattern);
    };
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'[', rest @ ..] => class(rest, byte),
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => (*literal == byte).then_some(rest),
    }
}

/// As `one`, after the `[` of a class. One that is never closed goes to the end.
fn class(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (mut rest, is_negated) = match pattern {
        [b'^', rest @ ..] => (rest, true),
        rest => (rest, false),
    };
    let mut is_in = false;
    loop {
        rest = match rest {
            [] => break,
            [b']', after @ ..] => {
                rest = after;
                break;
            }
            [b'\\', literal, after @ ..] => {
                is_in |= *literal == byte;
                after
            }
            [low, b'-', high, after @ ..] => {
                is_in |= (low.min(high)..=low.max(high)).contains(&&byte);
                after
            }
            [literal, after @ ..] => {
                is_in |= *literal == byte;
                after
            }
        }
    }
    (is_in != is_negated).then_some(rest)
}
