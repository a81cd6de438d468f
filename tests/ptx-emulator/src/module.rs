//! Modules: the variables and functions of PTX texts that belong together.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::decode;
use crate::inst::{Call, Inst, Ty};
use crate::token::{Token, tokens};

/// Why a text is not taken, or a program went wrong, with the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

/// A result of the emulator.
pub type Result<T> = std::result::Result<T, Error>;

/// A text and its name.
#[derive(Clone, Copy, Debug)]
pub struct Source<'t> {
    /// For messages.
    pub name: &'t str,
    /// PTX.
    pub text: &'t str,
}

/// Addresses of functions begin here, where no memory is. They are 16 apart.
pub const FUNCTIONS: u64 = 0x00f0_0000_0000_0000;

/// A parameter or a result of a function: its place in the frame, and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// From the frame's begin.
    pub offset: u32,
    /// Bytes.
    pub bytes: u32,
}

/// A function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Which of the sources it is of.
    pub source: u32,
    /// Its code; empty if it is only declared.
    pub code: Vec<Inst>,
    /// Constants of the code.
    pub constants: Vec<u64>,
    /// Registers.
    pub registers: u32,
    /// Bytes of the frame.
    pub frame: u32,
    /// Lanes in a block at most, of a kernel.
    pub most_lanes: u32,
    /// What it takes.
    pub params: Vec<Param>,
    /// What it returns.
    pub results: Vec<Param>,
}

/// A variable in memory.
#[derive(Clone, Debug, Default)]
pub struct Variable {
    /// Its address.
    pub address: u64,
    /// Bytes.
    pub bytes: usize,
}

/// What names stand for: those that all sources have in common, and those of each source alone.
#[derive(Debug, Default)]
pub struct Names<T> {
    common: FxHashMap<String, T>,
    own: Vec<FxHashMap<String, T>>,
}

impl<T> Names<T> {
    fn insert(&mut self, source: u32, name: &str, common: bool, value: T) {
        let own = source as usize;
        if self.own.len() <= own {
            self.own.resize_with(own + 1, FxHashMap::default);
        }
        let names = if common { &mut self.common } else { &mut self.own[own] };
        names.insert(name.to_owned(), value);
    }

    /// What a name stands for in a source.
    pub fn get(&self, source: u32, name: &str) -> Option<&T> {
        let own = self.own.get(source as usize).and_then(|names| names.get(name));
        own.or_else(|| self.common(name))
    }

    /// What a name stands for everywhere.
    pub fn common(&self, name: &str) -> Option<&T> {
        self.common.get(name)
    }

    /// All that has a name.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.common.values().chain(self.own.iter().flat_map(FxHashMap::values))
    }
}

/// Code that is ready to run.
#[derive(Debug, Default)]
pub struct Module {
    /// Functions and kernels.
    pub functions: Vec<Function>,
    /// Their numbers.
    pub names: Names<u32>,
    /// Variables.
    pub variables: Names<Variable>,
    /// Variables in a block's shared memory: where each is, by its source.
    pub shared_variables: FxHashMap<(u32, String), u32>,
    /// Bytes of all of them.
    pub shared_bytes: u32,
    /// Names of the shared memory after them, whose size the launch says. Each of them is its first byte.
    pub shared: FxHashSet<String>,
    /// Names of the sources.
    pub sources: Vec<String>,
    /// The variables' memory; only reached through addresses.
    memory: Vec<Box<[u128]>>,
}

/// A variable's value as it stands in the text.
struct Initializer<'t> {
    source: u32,
    address: u64,
    end: u64,
    element: u32,
    values: Vec<Token<'t>>,
}

/// A body that has yet to be decoded.
struct Body<'t> {
    function: u32,
    source: u32,
    head: Vec<Token<'t>>,
    tokens: Vec<Token<'t>>,
}

/// A number of PTX: decimal, hexadecimal, or the bits of a float.
pub fn number(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    if let Some(bits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(bits, 16).ok();
    }
    match text.get(..2) {
        Some("0f" | "0F" | "0d" | "0D") => u64::from_str_radix(&text[2..], 16).ok(),
        _ => text.parse().ok(),
    }
}

impl Module {
    /// Loads texts that belong together.
    ///
    /// # Errors
    ///
    /// What is not known of PTX, with its line, and names that nothing has.
    pub fn load(sources: &[Source]) -> Result<Module> {
        let mut module = Module::default();
        let (mut bodies, mut initializers) = (Vec::new(), Vec::new());
        for source in sources {
            module.sources.push(source.name.to_owned());
            let tokens = tokens(source.text);
            module
                .declare(tokens, &mut bodies, &mut initializers)
                .map_err(|(line, what)| Error(format!("{}:{line}: {what}", source.name)))?;
        }
        for body in bodies {
            let function = decode::function(&module, body.source, &body.head, &body.tokens)
                .map_err(|(line, what)| Error(format!("{}:{line}: {what}", sources[body.source as usize].name)))?;
            let declared = &mut module.functions[body.function as usize];
            *declared = Function {
                name: std::mem::take(&mut declared.name),
                source: body.source,
                ..function
            };
        }
        for initializer in initializers {
            module.initialize(&initializer)?;
        }
        Ok(module)
    }

    /// The number of a function that has this name, declared or not. `common`: other sources know it too.
    fn intern(&mut self, source: u32, name: &str, common: bool) -> u32 {
        let known = if common {
            self.names.common(name)
        } else {
            self.names.get(source, name)
        };
        if let Some(number) = known {
            return *number;
        }
        let number = self.functions.len() as u32;
        self.functions.push(Function {
            name: name.to_owned(),
            ..Function::default()
        });
        self.names.insert(source, name, common, number);
        number
    }

    /// The address of a variable or a function, as a source names it.
    pub fn symbol(&self, source: u32, name: &str) -> Option<u64> {
        let variable = self.variables.get(source, name).map(|variable| variable.address);
        variable.or_else(|| {
            self.names
                .get(source, name)
                .map(|number| FUNCTIONS + *number as u64 * 16)
        })
    }

    /// Makes known what stands at the top of a text.
    fn declare<'t>(
        &mut self,
        tokens: Vec<Token<'t>>,
        bodies: &mut Vec<Body<'t>>,
        initializers: &mut Vec<Initializer<'t>>,
    ) -> decode::Result<()> {
        let source = self.sources.len() as u32 - 1;
        let mut at = 0;
        while at < tokens.len() {
            let Token { text, line } = tokens[at];
            match text {
                ".version" | ".address_size" => at += 2,
                ".file" => at += 3,
                ".target" => {
                    at += 2;
                    while tokens.get(at).is_some_and(|token| token.text == ",") {
                        at += 2;
                    }
                }
                _ => {
                    // Up to the end of a declaration, or a body.
                    let find = |from: usize, texts: &[&str]| {
                        let found = tokens[from..].iter().position(|token| texts.contains(&token.text));
                        found
                            .map(|found| from + found)
                            .ok_or((line, format!("{text} has no end")))
                    };
                    let linkage = |text: &str| tokens[at..].iter().take(2).any(|token| token.text == text);
                    let outside = linkage(".extern");
                    let common = outside || linkage(".visible") || linkage(".weak");
                    let kind = find(at, &[".func", ".entry", ".global", ".const", ".shared", ";"])?;
                    if matches!(tokens[kind].text, ".func" | ".entry") {
                        let mut end = find(kind, &["{", ";"])?;
                        let head = &tokens[kind + 1..end];
                        let name = decode::function_name(head).ok_or((line, "a function without a name".into()))?;
                        let function = self.intern(source, name, common);
                        if tokens[end].text == "{" {
                            let begin = end + 1;
                            let mut depth = 1;
                            while depth > 0 {
                                end = find(end + 1, &["{", "}"])?;
                                depth = if tokens[end].text == "{" { depth + 1 } else { depth - 1 };
                            }
                            self.shared_in(source, name, &tokens[begin..end])?;
                            bodies.push(Body {
                                function,
                                source,
                                head: head.to_vec(),
                                tokens: tokens[begin..end].to_vec(),
                            });
                        }
                        at = end + 1;
                    } else if tokens[kind].text == ";" {
                        return Err((line, format!("{text} is not known")));
                    } else {
                        let end = find(kind, &[";"])?;
                        if outside && tokens[kind].text == ".shared" {
                            let name = decode::variable(&tokens[kind + 1..end])?.name;
                            self.shared.insert(name.to_owned());
                        } else if tokens[kind].text == ".shared" {
                            let variable = decode::variable(&tokens[kind + 1..end])?;
                            self.shared_variable(source, variable.name.to_owned(), variable.bytes);
                        } else if !outside {
                            self.variable(source, &tokens[kind + 1..end], common, initializers)?;
                        }
                        at = end + 1;
                    }
                }
            }
        }
        Ok(())
    }

    fn shared_variable(&mut self, source: u32, name: String, bytes: u32) {
        self.shared_variables.insert((source, name), self.shared_bytes);
        self.shared_bytes += bytes.next_multiple_of(16);
    }

    /// The variables in shared memory that a function declares in its body.
    fn shared_in(&mut self, source: u32, function: &str, body: &[Token]) -> decode::Result<()> {
        for (i, token) in body.iter().enumerate() {
            if token.text == ".shared" {
                let variable = decode::variable(&body[i + 1..])?;
                self.shared_variable(source, decode::shared_name(function, variable.name), variable.bytes);
            }
        }
        Ok(())
    }

    fn variable<'t>(
        &mut self,
        source: u32,
        tokens: &[Token<'t>],
        common: bool,
        initializers: &mut Vec<Initializer<'t>>,
    ) -> decode::Result<()> {
        let declared = decode::variable(tokens)?;
        let memory = vec![0u128; declared.bytes.div_ceil(16).max(1) as usize].into_boxed_slice();
        let address = memory.as_ptr() as u64;
        self.memory.push(memory);
        let variable = Variable {
            address,
            bytes: declared.bytes as usize,
        };
        self.variables.insert(source, declared.name, common, variable);
        if let Some(equals) = tokens.iter().position(|token| token.text == "=") {
            initializers.push(Initializer {
                source,
                address,
                end: address + declared.bytes as u64,
                element: declared.ty.bytes(),
                values: tokens[equals + 1..].to_vec(),
            });
        }
        Ok(())
    }

    /// Writes a variable's value.
    fn initialize(&mut self, initializer: &Initializer) -> Result<()> {
        let mut at = initializer.address;
        let values = initializer
            .values
            .iter()
            .filter(|token| !matches!(token.text, "{" | "}"));
        let values: Vec<Token> = values.copied().collect();
        for value in values.split(|token| token.text == ",") {
            let mut sum = 0u64;
            let mut negative = false;
            for token in value {
                let term = match token.text {
                    "-" => {
                        negative = true;
                        continue;
                    }
                    "+" | "(" | ")" | "generic" => continue,
                    text => number(text).or_else(|| self.symbol(initializer.source, text)),
                };
                let term =
                    term.ok_or_else(|| Error(format!("line {}: nothing is named {}", token.line, token.text)))?;
                sum = if negative {
                    sum.wrapping_sub(term)
                } else {
                    sum.wrapping_add(term)
                };
                negative = false;
            }
            if at + initializer.element as u64 > initializer.end {
                return Err(Error("a variable has more values than elements".into()));
            }
            let bytes = sum.to_le_bytes();
            // SAFETY: inside of the variable, whose memory is this module's.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, initializer.element as usize) };
            at += initializer.element as u64;
        }
        Ok(())
    }

    /// A kernel or function by its name.
    pub fn function(&self, name: &str) -> Option<u32> {
        let number = *self.names.common(name)?;
        (!self.functions[number as usize].code.is_empty()).then_some(number)
    }

    /// Where a function's instruction stands.
    pub fn place(&self, function: u32, pc: usize) -> String {
        let function = &self.functions[function as usize];
        let line = function.code.get(pc).map_or(0, |inst| inst.line);
        format!("{}:{line} ({})", self.sources[function.source as usize], function.name)
    }

    /// Whether a call passes what the function takes.
    pub fn fits(&self, call: &Call, function: u32) -> bool {
        let same = |places: &[(u32, u32)], params: &[Param]| {
            places.len() == params.len() && places.iter().zip(params).all(|(place, param)| place.1 == param.bytes)
        };
        let function = &self.functions[function as usize];
        same(&call.params, &function.params) && same(&call.results, &function.results)
    }
}

/// A variable as it is declared.
pub struct Declared<'t> {
    /// Its name, or what it begins with.
    pub name: &'t str,
    /// Type of an element.
    pub ty: Ty,
    /// Bytes.
    pub bytes: u32,
    /// Its address is a multiple of it.
    pub align: u32,
}
