//! Reads a page: its code, links, headings, lists and words.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A Markdown file.
#[derive(Default)]
pub struct Page {
    /// Its path below the root, with `/`.
    pub name: String,
    pub text: String,
    pub blocks: Vec<Block>,
    pub links: Vec<Link>,
    /// The code in its prose, with the lines.
    pub codes: Vec<(usize, String)>,
    pub headings: Vec<Heading>,
    /// How many words it has that are not in code blocks.
    pub words: usize,
    /// The ordered lists that are in no other list.
    pub lists: Vec<List>,
}

/// A code block between fences.
pub struct Block {
    /// What stands behind the backticks.
    pub info: String,
    /// The number of the line that begins it.
    pub line: usize,
    /// Where its body is in the text.
    pub body: Range<usize>,
    /// Whether it ends in a fence of its own, and stands at the margin.
    pub is_whole: bool,
}

/// A link or a picture.
pub struct Link {
    pub line: usize,
    pub target: String,
    /// What is shown, without marks.
    pub text: String,
    /// Whether all that is shown is code.
    pub is_code: bool,
    pub is_picture: bool,
}

/// A heading.
pub struct Heading {
    pub level: usize,
    pub text: String,
}

/// An ordered list.
pub struct List {
    /// The heading that it stands below.
    pub heading: String,
    /// The text of each of its items.
    pub items: Vec<String>,
}

impl Page {
    pub fn new(name: &str, text: &str) -> Self {
        let mut reader = Reader::default();
        reader.page.name = name.to_owned();
        reader.page.text = text.to_owned();
        let parser = Parser::new_ext(text, Options::ENABLE_TABLES);
        for (event, range) in parser.into_offset_iter() {
            reader.take(event, range);
        }
        reader.page.words = reader.prose.split_whitespace().count();
        reader.page
    }

    /// Whether it is a page of the book.
    pub fn is_of_book(&self) -> bool {
        self.name.starts_with("docs/book/")
    }

    /// The number of the chapter, two digits, if it is one: `docs/book/`, two digits, a hyphen, a
    /// name.
    pub fn chapter(&self) -> Option<&str> {
        let (number, _) = self.name.strip_prefix("docs/book/")?.split_once('-')?;
        let is_number = number.len() == 2 && number.bytes().all(|it| it.is_ascii_digit());
        is_number.then_some(number)
    }

    /// The text of its first heading.
    pub fn title(&self) -> &str {
        self.headings.first().map_or("", |heading| heading.text.as_str())
    }

    /// Whether a heading has this anchor.
    pub fn has_anchor(&self, anchor: &str) -> bool {
        self.headings.iter().any(|heading| anchor_of(&heading.text) == anchor)
    }
}

/// The number of a chapter as one says it: without a leading zero.
pub fn spoken(number: &str) -> &str {
    number.strip_prefix('0').unwrap_or(number)
}

/// The anchor of a heading, as forges make it: lower case, hyphens for spaces, no marks.
fn anchor_of(heading: &str) -> String {
    let words = heading.to_lowercase();
    let kept = words.chars().filter(|it| it.is_alphanumeric() || " -_".contains(*it));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect()
}

/// Reads a page event by event.
#[derive(Default)]
struct Reader {
    page: Page,
    /// All that is not in a code block.
    prose: String,
    is_in_block: bool,
    /// The lists that are open, and whether each is ordered.
    open_lists: Vec<bool>,
    /// The items of the outermost list.
    items: Vec<String>,
    /// The link that is open, where its text begins, and whether all of that is code so far.
    open_link: Option<(Link, usize)>,
    heading_start: usize,
    item_start: usize,
}

impl Reader {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if !self.is_in_block => {
                if let Some((link, _)) = &mut self.open_link {
                    link.is_code &= text.trim().is_empty();
                }
                self.prose += &text;
            }
            Event::Code(text) => {
                self.prose += &text;
                let line = line_of(&self.page.text, range.start);
                self.page.codes.push((line, text.into_string()));
            }
            Event::SoftBreak | Event::HardBreak => self.prose.push(' '),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let line = line_of(&self.page.text, range.start);
        match tag {
            Tag::CodeBlock(kind) => {
                self.is_in_block = true;
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => "indented".to_owned(),
                };
                self.page.blocks.push(block(&self.page.text, info, line, range));
            }
            Tag::Heading { .. } => self.heading_start = self.prose.len(),
            Tag::Link { dest_url, .. } => self.start_link(line, &dest_url, false),
            Tag::Image { dest_url, .. } => self.start_link(line, &dest_url, true),
            Tag::List(first) => {
                self.prose.push('\n');
                self.open_lists.push(first.is_some());
            }
            Tag::Item if self.open_lists.len() == 1 => self.item_start = self.prose.len(),
            _ => {}
        }
    }

    fn start_link(&mut self, line: usize, target: &str, is_picture: bool) {
        let target = target.to_owned();
        let link = Link { line, target, text: String::new(), is_code: true, is_picture };
        self.open_link = Some((link, self.prose.len()));
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::CodeBlock => self.is_in_block = false,
            TagEnd::Heading(level) => {
                let text = self.prose[self.heading_start..].trim().to_owned();
                self.page.headings.push(Heading { level: level as usize, text });
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some((mut link, start)) = self.open_link.take() {
                    link.text = self.prose[start..].to_owned();
                    self.page.links.push(link);
                }
                return;
            }
            TagEnd::Item if self.open_lists.len() == 1 => {
                self.items.push(self.prose[self.item_start..].trim().to_owned());
            }
            TagEnd::List(is_ordered) => self.end_list(is_ordered),
            TagEnd::Emphasis | TagEnd::Strong => return,
            _ => {}
        }
        self.prose.push('\n');
    }

    fn end_list(&mut self, is_ordered: bool) {
        self.open_lists.pop();
        if !self.open_lists.is_empty() {
            return;
        }
        let items = std::mem::take(&mut self.items);
        if is_ordered {
            let heading = self.page.headings.last().map_or("", |it| it.text.as_str()).to_owned();
            self.page.lists.push(List { heading, items });
        }
    }
}

/// The code block that is at `range`.
fn block(text: &str, info: String, line: usize, range: Range<usize>) -> Block {
    let whole = &text[range.clone()];
    let first = whole.find('\n').map_or(whole.len(), |at| at + 1);
    let last = whole.trim_end().rfind('\n').map_or(0, |at| at + 1);
    let fence: String = whole.chars().take_while(|it| *it == '`').collect();

    let is_at_margin = range.start == 0 || text[..range.start].ends_with('\n');
    let is_closed = last >= first && !fence.is_empty() && whole[last..].starts_with(&fence);
    let end = if is_closed { last } else { whole.len() };
    let body = range.start + first..range.start + end.max(first);
    Block { info, line, body, is_whole: is_at_margin && is_closed }
}

/// The number of the line at a place in a text.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# 3. A `queue` of tasks

Two *short* words, a [`Task::wake`](../a.rs) and
![a queue](pictures/queue.svg).

```rust a.rs::Task::wake
fn many_words_that_do_not_count() {}
```

````text
```
````

## Questions

1. Why?
2. When, and
   * why?

* no question
";

    #[test]
    fn page_is_read() {
        let page = Page::new("docs/book/03-queue.md", TEXT);
        assert_eq!(page.chapter(), Some("03"));
        assert_eq!(page.title(), "3. A queue of tasks");
        assert!(page.has_anchor("3-a-queue-of-tasks") && page.has_anchor("questions"));
        assert_eq!(page.words, 5 + 8 + 1 + 4 + 2);

        let links: Vec<_> = page.links.iter().map(|it| (it.line, it.text.as_str())).collect();
        assert_eq!(links, [(3, "Task::wake"), (4, "a queue")]);
        assert!(page.links[0].is_code && !page.links[0].is_picture);
        assert!(!page.links[1].is_code && page.links[1].is_picture);

        assert_eq!(page.lists.len(), 1);
        assert_eq!(page.lists[0].heading, "Questions");
        assert_eq!(page.lists[0].items.len(), 2);
        assert_eq!(page.lists[0].items[1], "When, and\nwhy?");
    }

    #[test]
    fn blocks_are_read_with_what_is_in_them() {
        let page = Page::new("docs/book/README.md", TEXT);
        assert_eq!(page.chapter(), None);
        assert_eq!(page.codes[1], (3, "Task::wake".to_owned()));
        let bodies: Vec<_> = page.blocks.iter().map(|it| &TEXT[it.body.clone()]).collect();
        assert_eq!(bodies, ["fn many_words_that_do_not_count() {}\n", "```\n"]);
        assert_eq!(page.blocks[0].info, "rust a.rs::Task::wake");
        assert_eq!(page.blocks[0].line, 6);
        assert!(page.blocks.iter().all(|it| it.is_whole));
    }
}
