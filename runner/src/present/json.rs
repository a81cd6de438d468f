//! The objects that the command prints for programs. Each is a struct here or, of `inspect --json`, in
//! [`crate::inspect`]; nothing else prints JSON. `docs/src/json-schema.json` is made from these structs.
//!
//! - [`report`]: `--report json`, how a run failed.
//! - [`stats`]: `--stats=json`, times and counts.
//! - [`DebugLine`]: `--debug-json`, a message of the guest.
//! - [`ProcessReport`](crate::command::batch::ProcessReport): `batch --report json`, how a process ended.
//! - [`Returned`]: `--results json`, what a thread returned.

pub mod report;
#[cfg(test)]
mod schema;
pub mod stats;

use std::borrow::Cow;

use serde::Serialize;

/// The number of the objects' form. It changes when a key goes, or means something else; not when one is added.
pub const SCHEMA: u64 = 1;

/// A report or statistics, with the number of its form in front.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Numbered<T> {
    /// The number of the form: 1. It changes when a key goes or means something else, not when one is added.
    schema: u64,
    #[serde(flatten)]
    object: T,
}

impl<T> Numbered<T> {
    pub fn new(object: T) -> Numbered<T> {
        Numbered { schema: SCHEMA, object }
    }
}

/// A debug message of the guest.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DebugLine<'m> {
    /// The thread that sent it.
    pub thread: u32,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: &'m str,
    /// The message.
    pub text: Cow<'m, str>,
    /// The place in the guest's sources, if the message names it.
    #[serde(flatten)]
    pub place: Option<DebugPlace<'m>>,
}

/// The place of a debug message in the guest's sources.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DebugPlace<'m> {
    /// Path of the source file.
    pub file: &'m str,
    /// Line in it.
    pub line: u32,
}

/// What a thread returned: a value, or an array of them if there are several.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Returned {
    One(ReturnedValue),
    Several(Vec<ReturnedValue>),
}

/// A value. What JSON has no number for is text.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ReturnedValue {
    Number(serde_json::Number),
    /// NaN, an infinity, a vector or a reference.
    Text(String),
}

/// An object as a line of JSON, without the line's end.
pub fn line(object: &impl Serialize) -> String {
    serde_json::to_string(object).expect("keys are strings, and numbers have a JSON form")
}
