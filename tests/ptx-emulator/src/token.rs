//! PTX text as tokens.

/// A token and the line it stands on, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// A word (a name, an opcode with its modifiers, a number) or one character of punctuation.
    pub text: &'t str,
    /// Its line.
    pub line: u32,
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// The tokens of a text, comments left out.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let (mut tokens, mut at, mut line) = (Vec::with_capacity(text.len() / 5), 0, 1);
    while at < bytes.len() {
        let begin = at;
        match bytes[at] {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += bytes[at..]
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .unwrap_or(bytes.len() - at);
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            byte if in_word(byte) => {
                at += bytes[at..]
                    .iter()
                    .position(|b| !in_word(*b))
                    .unwrap_or(bytes.len() - at)
            }
            b'"' => {
                let end = bytes[at + 1..].iter().position(|b| *b == b'"');
                at += end.map_or(bytes.len() - at, |end| end + 2);
            }
            // A character of any length: names of functions stand in comments only.
            _ => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
        tokens.push(Token {
            text: &text[begin..at],
            line,
        });
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_left_out_and_lines_counted() {
        let found = tokens("// a é\n@!%p1 ld.u8 %r1, [x+-4]; // b\n\tL$1:");
        let texts: Vec<_> = found.iter().map(|token| token.text).collect();
        let expected = [
            "@", "!", "%p1", "ld.u8", "%r1", ",", "[", "x", "+", "-", "4", "]", ";", "L$1", ":",
        ];
        assert_eq!(texts, expected);
        assert_eq!((found[0].line, found[13].line), (2, 3));
    }
}
