//! From the text of a function to instructions.

mod opcodes;
mod operands;

use rustc_hash::FxHashMap;

use crate::inst::{Call, Inst, NONE, Op, Src, Ty};
use crate::module::{Declared, Function, Module, Param, number};
use crate::token::Token;

/// What is wrong with a text, and its line.
pub type Failure = (u32, String);

/// A result of decoding.
pub type Result<T> = std::result::Result<T, Failure>;

/// A register.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Its number.
    pub index: u32,
    /// Its type.
    pub ty: Ty,
}

/// What a name means.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Register(Register),
    /// Registers whose names end with a number: the first, and how many.
    Registers(Register, u32),
    /// A place in the frame, and its bytes.
    Frame(u32, u32),
    /// A place in the block's shared memory.
    Shared(u32),
}

/// The name of a function, of the tokens before its body.
pub fn function_name<'t>(head: &[Token<'t>]) -> Option<&'t str> {
    let mut depth = 0;
    for token in head {
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            text if depth == 0 && !text.starts_with('.') => return Some(text),
            _ => {}
        }
    }
    None
}

/// The name of a variable in shared memory that a function declares.
pub fn shared_name(function: &str, variable: &str) -> String {
    format!("{function}.{variable}")
}

/// A declaration without its state space: `.align 8 .b8 name[16]`.
pub fn variable<'t>(tokens: &[Token<'t>]) -> Result<Declared<'t>> {
    let line = tokens.first().map_or(0, |token| token.line);
    let bad = || (line, "a variable that cannot be read".to_owned());
    let (mut at, mut align) = (0, 0);
    loop {
        let text = tokens.get(at).ok_or_else(bad)?.text;
        if text == ".align" {
            align = tokens
                .get(at + 1)
                .and_then(|token| number(token.text))
                .ok_or_else(bad)? as u32;
            at += 2;
        } else if let Some(ty) = text.strip_prefix('.').and_then(Ty::parse) {
            let name = tokens.get(at + 1).ok_or_else(bad)?.text;
            let mut bytes = ty.bytes();
            at += 2;
            while tokens.get(at).is_some_and(|token| token.text == "[") {
                if tokens.get(at + 1).is_some_and(|token| token.text == "]") {
                    // As many as the launch says.
                    bytes = 0;
                    at += 2;
                    continue;
                }
                bytes *= tokens
                    .get(at + 1)
                    .and_then(|token| number(token.text))
                    .ok_or_else(bad)? as u32;
                at += 3;
            }
            return Ok(Declared {
                name,
                ty,
                bytes,
                align: align.max(ty.bytes()),
            });
        } else {
            at += 1;
        }
    }
}

/// Makes the code of one function.
pub struct Decoder<'m, 't> {
    module: &'m Module,
    /// Which of the module's sources the function is of.
    source: u32,
    /// The function's name.
    name: &'t str,
    scopes: Vec<FxHashMap<&'t str, Meaning>>,
    function: Function,
    constants: FxHashMap<u64, u32>,
    labels: FxHashMap<&'t str, u32>,
    /// Instructions that name labels, with the labels.
    jumps: Vec<(usize, Vec<&'t str>, u32)>,
    /// Lists of labels by name.
    tables: FxHashMap<&'t str, Vec<&'t str>>,
    guard: u32,
    line: u32,
    /// The register of what additions and subtractions carry.
    flag: Option<u32>,
}

/// Decodes a function: what stands before its body, and the body.
pub fn function<'t>(module: &Module, source: u32, head: &[Token<'t>], body: &[Token<'t>]) -> Result<Function> {
    let mut decoder = Decoder {
        module,
        source,
        name: function_name(head).unwrap_or_default(),
        scopes: vec![FxHashMap::default()],
        function: Function::default(),
        constants: FxHashMap::default(),
        labels: FxHashMap::default(),
        jumps: Vec::new(),
        tables: FxHashMap::default(),
        guard: NONE,
        line: 0,
        flag: None,
    };
    let name = head.iter().position(|token| Some(token.text) == function_name(head));
    let (results, params) = head.split_at(name.unwrap_or(0));
    decoder.function.results = decoder.parameters(results)?;
    decoder.function.params = decoder.parameters(params)?;
    let most = head.iter().position(|token| token.text == ".maxntid");
    let most = most.and_then(|at| number(head.get(at + 1)?.text));
    decoder.function.most_lanes = most.map_or(u32::MAX, |most| most as u32);
    decoder.body(body)?;
    decoder.resolve()?;
    let end = decoder.line;
    // A lane that runs off the end returns.
    decoder.function.code.push(Inst {
        guard: NONE,
        line: end,
        op: Op::Return,
    });
    // A GPU has 255 registers; what is more lies on the stack there.
    let spilled = 8 * decoder.function.registers.saturating_sub(255);
    decoder.function.frame = (decoder.function.frame + spilled).next_multiple_of(16);
    Ok(decoder.function)
}

impl<'t> Decoder<'_, 't> {
    fn fail<T>(&self, what: impl Into<String>) -> Result<T> {
        Err((self.line, what.into()))
    }

    fn declare(&mut self, name: &'t str, meaning: Meaning) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, meaning);
        }
    }

    fn in_frame(&mut self, declared: &Declared<'t>) -> Param {
        // Parameters are moved and addressed as if they were aligned as well as can be.
        let offset = self.function.frame.next_multiple_of(declared.align.max(16));
        self.function.frame = offset + declared.bytes;
        self.declare(declared.name, Meaning::Frame(offset, declared.bytes));
        Param {
            offset,
            bytes: declared.bytes,
        }
    }

    /// The parameters in a list in parentheses.
    fn parameters(&mut self, tokens: &[Token<'t>]) -> Result<Vec<Param>> {
        let inside = tokens.iter().position(|token| token.text == "(");
        let Some(begin) = inside else { return Ok(Vec::new()) };
        let end = tokens
            .iter()
            .position(|token| token.text == ")")
            .unwrap_or(tokens.len());
        let mut params = Vec::new();
        for tokens in tokens[begin + 1..end].split(|token| token.text == ",") {
            if !tokens.is_empty() {
                params.push(self.in_frame(&variable(tokens)?));
            }
        }
        Ok(params)
    }

    fn body(&mut self, tokens: &[Token<'t>]) -> Result<()> {
        let mut at = 0;
        while at < tokens.len() {
            let Token { text, line } = tokens[at];
            self.line = line;
            match text {
                "{" => {
                    self.scopes.push(FxHashMap::default());
                    at += 1;
                }
                "}" => {
                    self.scopes.pop();
                    at += 1;
                }
                ";" => at += 1,
                // With file, line and column, and no end.
                ".loc" => at += 4,
                _ if tokens.get(at + 1).is_some_and(|token| token.text == ":") => {
                    self.label(text, &mut at, tokens)?;
                }
                _ => {
                    let end = tokens[at..].iter().position(|token| token.text == ";");
                    let end = end.map_or(tokens.len(), |end| at + end);
                    self.statement(&tokens[at..end])?;
                    at = end + 1;
                }
            }
        }
        Ok(())
    }

    /// A label, or what else begins with a name.
    fn label(&mut self, name: &'t str, at: &mut usize, tokens: &[Token<'t>]) -> Result<()> {
        *at += 2;
        let next = tokens.get(*at).map_or("", |token| token.text);
        if !matches!(next, ".branchtargets" | ".callprototype") {
            let here = self.function.code.len() as u32;
            if self.labels.insert(name, here).is_some() {
                return self.fail(format!("the label {name} stands twice in a function"));
            }
            return Ok(());
        }
        let end = tokens[*at..].iter().position(|token| token.text == ";");
        let end = end.map_or(tokens.len(), |end| *at + end);
        if next == ".branchtargets" {
            let targets = tokens[*at + 1..end].iter().filter(|token| token.text != ",");
            self.tables.insert(name, targets.map(|token| token.text).collect());
        }
        // Calls compare with the function itself, not with what it is said to be.
        *at = end + 1;
        Ok(())
    }

    fn statement(&mut self, tokens: &[Token<'t>]) -> Result<()> {
        match tokens[0].text {
            ".reg" => self.registers(&tokens[1..]),
            ".param" | ".local" => {
                let declared = variable(&tokens[1..])?;
                self.in_frame(&declared);
                Ok(())
            }
            ".shared" => {
                let declared = variable(&tokens[1..])?;
                let key = (self.source, shared_name(self.name, declared.name));
                let Some(at) = self.module.shared_variables.get(&key) else {
                    return self.fail(format!("{} was not found before", declared.name));
                };
                self.declare(declared.name, Meaning::Shared(*at));
                Ok(())
            }
            ".pragma" => Ok(()),
            "@" => {
                let negated = tokens.get(1).is_some_and(|token| token.text == "!");
                let at = 1 + negated as usize;
                let Some(Meaning::Register(register)) = tokens.get(at).and_then(|token| self.meaning(token.text))
                else {
                    return self.fail("a guard that is no register");
                };
                self.guard = register.index * 2 + negated as u32;
                let done = self.instruction(&tokens[at + 1..]);
                self.guard = NONE;
                done
            }
            text if text.starts_with('.') => self.fail(format!("{text} is not known in a function")),
            _ => self.instruction(tokens),
        }
    }

    fn registers(&mut self, tokens: &[Token<'t>]) -> Result<()> {
        let ty = tokens
            .first()
            .and_then(|token| Ty::parse(token.text.strip_prefix('.')?));
        let Some(ty) = ty else {
            return self.fail("registers of an unknown type");
        };
        for tokens in tokens[1..].split(|token| token.text == ",") {
            let index = self.function.registers;
            let register = Register { index, ty };
            let count = match tokens {
                [name] => {
                    self.declare(name.text, Meaning::Register(register));
                    1
                }
                [name, open, count, _] if open.text == "<" => {
                    let count = number(count.text).unwrap_or(0) as u32;
                    self.declare(name.text, Meaning::Registers(register, count));
                    count
                }
                _ => return self.fail("registers that cannot be read"),
            };
            self.function.registers += count;
        }
        Ok(())
    }

    /// What a name means here; of a numbered register the register.
    fn meaning(&self, name: &str) -> Option<Meaning> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        for scope in self.scopes.iter().rev() {
            if let Some(meaning) = scope.get(name) {
                return Some(*meaning);
            }
            if stem.len() < name.len()
                && let Some(Meaning::Registers(first, count)) = scope.get(stem)
                && let Ok(number) = name[stem.len()..].parse::<u32>()
                && number < *count
            {
                return Some(Meaning::Register(Register {
                    index: first.index + number,
                    ty: first.ty,
                }));
            }
        }
        None
    }

    /// A register that nothing names.
    fn scratch(&mut self) -> u32 {
        self.function.registers += 1;
        self.function.registers - 1
    }

    fn constant(&mut self, value: u64) -> Src {
        let constants = &mut self.function.constants;
        let index = *self.constants.entry(value).or_insert_with(|| {
            constants.push(value);
            constants.len() as u32 - 1
        });
        Src::constant(index)
    }

    fn push(&mut self, op: Op) {
        self.function.code.push(Inst {
            guard: self.guard,
            line: self.line,
            op,
        });
    }

    /// An instruction that goes to labels.
    fn jump(&mut self, op: Op, labels: Vec<&'t str>) {
        self.jumps.push((self.function.code.len(), labels, self.line));
        self.push(op);
    }

    /// Puts places of the code where labels were named.
    fn resolve(&mut self) -> Result<()> {
        for (at, labels, line) in std::mem::take(&mut self.jumps) {
            let place = |label: &&str| {
                let found = self.labels.get(label).copied();
                found.ok_or_else(|| (line, format!("there is no label {label}")))
            };
            match &mut self.function.code[at].op {
                Op::Branch(target) => *target = place(&labels[0])?,
                Op::BranchIndex(_, targets) => {
                    let Some(table) = self.tables.get(labels[0]) else {
                        return Err((line, format!("there is no list of labels {}", labels[0])));
                    };
                    *targets = table.iter().map(place).collect::<Result<_>>()?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `call (results), function, (params), prototype`, after the opcode.
    fn call(&mut self, tokens: &[Token<'t>]) -> Result<()> {
        let mut lists: [Vec<(u32, u32)>; 2] = Default::default();
        let (mut call, mut inside, mut named) = (Call::default(), false, false);
        for token in tokens {
            match token.text {
                "(" => inside = true,
                ")" => inside = false,
                "," => {}
                text if inside => {
                    let Some(Meaning::Frame(offset, bytes)) = self.meaning(text) else {
                        return self.fail(format!("{text} is no parameter"));
                    };
                    lists[named as usize].push((offset, bytes));
                }
                text if !named => {
                    named = true;
                    match self.meaning(text) {
                        Some(Meaning::Register(register)) => call.pointer = Some(Src::register(register.index)),
                        _ => match self.module.names.get(self.source, text) {
                            Some(function) => call.function = Some(*function),
                            None => return self.fail(format!("there is no function {text}")),
                        },
                    }
                }
                // The prototype.
                _ => {}
            }
        }
        [call.results, call.params] = lists;
        self.push(Op::Call(Box::new(call)));
        Ok(())
    }
}
