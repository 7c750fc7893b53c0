//! Text inside of other text.

use std::fmt::Write;

/// A string of JSON that may also stand inside of `<script>`.
pub(crate) fn json(text: &str) -> String {
    let mut quoted = String::from("\"");

    for character in text.chars() {
        match character {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            // A script would end at `</script>`, and be another one after `<!--`.
            // JSON allows no line to break inside of a string.
            '\0'..=' ' | '<' | '\u{2028}' | '\u{2029}' if character != ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Text in XML or HTML.
pub(crate) fn xml(text: &str) -> String {
    let mut quoted = String::new();
    for character in text.chars() {
        match character {
            // What begins or ends something else.
            '&' => quoted += "&amp;",
            '<' => quoted += "&lt;",
            '>' => quoted += "&gt;",
            '"' => quoted += "&quot;",
            // XML does not allow these, also not as a number.
            '\0'..='\u{1f}' => quoted.push(' '),
            _ => quoted.push(character),
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_script_or_the_string() {
        assert_eq!(json("a \"b\" \\ </script>\n"), r#""a \"b\" \\ \u003c/script>\u000a""#);
        assert_eq!(xml("<b a=\"&\">\n"), "&lt;b a=&quot;&amp;&quot;&gt; ");
    }
}
