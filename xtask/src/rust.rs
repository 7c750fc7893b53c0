//! One Rust source text, cut into tokens: its words, its functions, and the air in them. (tokei
//! counts lines: see `lines.rs`. It knows neither functions nor words.)
//!
//! Everything here is a pure function of the text. Which files are counted, and what the limits
//! are, is the business of `audit.rs`.

use std::ops::Range;

use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};

/// A text, cut into tokens.
pub struct Rust {
    /// Its tokens in their order, without documentation.
    pub words: Vec<Word>,
    text: String,
    /// Whether a token stands on each line.
    is_code: Vec<bool>,
    /// The places of all literals, also of those that documentation consists of.
    literals: Vec<Range<LineColumn>>,
}

/// A token: a name, a literal, a mark such as `;` or `::`, or one side of a group.
#[derive(Debug)]
pub struct Word {
    pub text: String,
    pub line: usize,
    /// Where the group ends that this word opens; its own place if it opens none.
    pub close: usize,
}

/// So many columns make a line of code wide.
pub const WIDE: usize = 90;

/// Functions shorter than this need neither paragraphs nor comments inside.
pub const SHORTEST_WITH_AIR: usize = 8;

/// Marks that are one word of two letters.
const MARKS: [&str; 9] = ["::", "=>", "->", "==", "!=", "<=", ">=", "&&", "||"];

/// The air of a text, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Air {
    /// Lines with tokens, and those of them with many columns.
    pub code: usize,
    pub wide: usize,
    /// The lines of longer functions, and how many of them are blank or have a comment, alone or
    /// behind code; documentation is none.
    pub lines: usize,
    pub blanks: usize,
    pub comments: usize,
}

/// One function that has a body: from the line of `fn` to that of the closing brace.
#[derive(Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    pub end: usize,
}

impl Function {
    pub fn length(&self) -> usize {
        self.end + 1 - self.line
    }
}

impl std::ops::AddAssign for Air {
    fn add_assign(&mut self, other: Self) {
        self.code += other.code;
        self.wide += other.wide;
        self.lines += other.lines;
        self.blanks += other.blanks;
        self.comments += other.comments;
    }
}

impl Rust {
    /// Cuts a text into tokens. What cannot be cut is all code, and has no words.
    pub fn of(text: &str) -> Self {
        let mut rust = Rust {
            words: Vec::new(),
            text: text.to_owned(),
            is_code: vec![false; text.lines().count()],
            literals: Vec::new(),
        };
        match text.parse() {
            Ok(tokens) => rust.cut(tokens),
            Err(_) => rust.is_code.fill(true),
        }
        rust
    }

    fn cut(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(tree) = tokens.next() {
            let (start, end) = (tree.span().start(), tree.span().end());
            match tree {
                // A doc comment is an attribute whose tokens are each as long as the comment.
                TokenTree::Punct(_) if end.line > start.line || end.column > start.column + 1 => {
                    self.literals.push(start..end);
                    while tokens.next_if(|it| it.span().start() == start).is_some() {}
                }
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Bracket => ("[", "]"),
                        _ => ("{", "}"),
                    };
                    let at = self.words.len();
                    self.add(open, group.span_open().start().line);
                    self.cut(group.stream());
                    self.words[at].close = self.words.len();
                    self.add(close, group.span_close().start().line);
                }
                TokenTree::Punct(mark) => {
                    let last = self.words.last_mut().filter(|it| it.line == start.line);
                    let both = |it: &Word| format!("{}{}", it.text, mark.as_char());
                    match last.filter(|it| MARKS.contains(&both(it).as_str())) {
                        Some(last) => last.text.push(mark.as_char()),
                        None => self.add(&mark.to_string(), start.line),
                    }
                }
                tree => {
                    if let TokenTree::Literal(_) = tree {
                        self.literals.push(start..end);
                    }
                    self.add(&tree.to_string(), start.line);
                    self.is_code[start.line - 1..end.line].fill(true);
                }
            }
        }
    }

    fn add(&mut self, text: &str, line: usize) {
        self.words.push(Word { text: text.to_owned(), line, close: self.words.len() });
        self.is_code[line - 1] = true;
    }

    /// The word at a place, or an empty one behind the end.
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |it| &it.text)
    }

    /// Whether a name stands at a place, or a keyword.
    pub fn is_name(&self, at: usize) -> bool {
        self.word(at).starts_with(|it: char| it.is_alphabetic() || it == '_')
    }

    /// Whether these words stand at a place.
    pub fn has(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(index, it)| self.word(at + index) == *it)
    }

    /// Every function that has a body, but for those in macros.
    pub fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        let mut at = 0;
        while at < self.words.len() {
            let arguments = match self.word(at) {
                "macro_rules" => at + 3,
                _ => at + 2,
            };
            if self.is_name(at) && self.word(at + 1) == "!" && arguments < self.words.len() {
                at = self.words[arguments].close;
            } else if self.word(at) == "fn" && self.is_name(at + 1) {
                // The body is the first brace that stands in no other group.
                let mut body = at + 2;
                while !["{", ";", ""].contains(&self.word(body)) {
                    body = self.words[body].close + 1;
                }
                if self.word(body) == "{" {
                    let end = self.words[self.words[body].close].line;
                    let name = self.word(at + 1).to_owned();
                    functions.push(Function { name, line: self.words[at].line, end });
                }
            }
            at += 1;
        }
        functions
    }

    /// Whether two slashes stand on a line outside of all literals.
    fn has_comment(&self, number: usize, line: &str) -> bool {
        line.match_indices("//").any(|(at, _)| {
            // Columns of tokens count characters.
            let place = LineColumn { line: number, column: line[..at].chars().count() };
            !self.literals.iter().any(|it| it.contains(&place))
        })
    }

    /// Counts wide lines of code, and the air in functions.
    pub fn air(&self) -> Air {
        let mut air = Air::default();
        for (_, line) in self.is_code.iter().zip(self.text.lines()).filter(|it| *it.0) {
            air.code += 1;
            if line.chars().count() >= WIDE {
                air.wide += 1;
            }
        }

        // A function inside another one is a part of it, and not counted again.
        let mut counted_up_to = 0;
        for function in self.functions() {
            if function.length() < SHORTEST_WITH_AIR || function.line <= counted_up_to {
                continue;
            }
            counted_up_to = function.end;
            air.lines += function.length();
            let lines = self.text.lines().enumerate().skip(function.line - 1);
            for (index, line) in lines.take(function.length()) {
                if line.trim().is_empty() {
                    air.blanks += 1;
                } else if self.has_comment(index + 1, line) {
                    air.comments += 1;
                }
            }
        }
        air
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_are_lines_of_code() {
        let wide = "x".repeat(WIDE);
        let text = format!("// {wide}\n/// {wide}\nfn {wide}();\nfn {}();\n", &wide[7..]);
        let air = Rust::of(&text).air();
        assert_eq!((air.wide, air.code), (1, 2));
        // A literal of several lines is code, and so is what is no Rust.
        assert_eq!(Rust::of("const A: &str = \"\n// b\n\";\n// c\n").air().code, 3);
        assert_eq!(Rust::of("a \"b\n// c\n").air().code, 2);
    }

    #[test]
    fn words_are_tokens() {
        let rust = Rust::of("/// a\nb::<C>() => 'd; // e\n\"f\" == g!{}");
        let words: Vec<_> = rust.words.iter().map(|it| it.text.as_str()).collect();
        let expected = [
            "b", "::", "<", "C", ">", "(", ")", "=>", "'", "d", ";", "\"f\"", "==", "g", "!", "{",
            "}",
        ];
        assert_eq!(words, expected);
        assert_eq!((rust.words[5].close, rust.words[15].line), (6, 3));
    }

    #[test]
    fn a_function_is_as_long_as_its_lines() {
        let source = "\
/// Not counted.
pub fn long<F: Fn(fn(u8)) -> u8>(
x: [u8; 3],
) -> u8 where F: Send {
fn inner() {}
}
trait T { fn none(); fn one() {} }
m! { fn in_a_macro() {} }
macro_rules! n { () => { fn in_another() {} } }
";
        let functions = Rust::of(source).functions();
        let told = functions.iter().map(|it| (it.name.as_str(), it.line, it.length()));
        assert_eq!(told.collect::<Vec<_>>(), [("long", 2, 5), ("inner", 5, 1), ("one", 7, 1)]);
    }

    #[test]
    fn air_is_counted_in_longer_functions() {
        let text = "\
// Outside of functions nothing is counted.

fn short() {
    // It needs no air.

}

/// Documentation stands outside.
fn long() {
    let link = \"https://host\"; // a comment behind code

    // A comment alone.
    fn inner() {
        /// Documentation is no comment.
        const URL: &str = \"//
        //\";
        // A comment that is counted once.

        g();
    }
}
";
        let air = Rust::of(text).air();
        assert_eq!([air.lines, air.blanks, air.comments], [13, 2, 3]);
    }
}
