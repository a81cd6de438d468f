//! Makes HTML of Markdown.

use std::io::{Read, Write};

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("a text");
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, pulldown_cmark::Parser::new(&text));
    std::io::stdout().write_all(html.as_bytes()).expect("stdout");
}
