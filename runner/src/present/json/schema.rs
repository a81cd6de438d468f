//! The JSON schema of the objects, for the book.

use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::report::Report;
use super::stats::Stats;
use super::{DebugLine, Numbered, Returned};
use crate::command::batch::ProcessReport;
use crate::inspect::Inspection;

/// Where it stands in the book.
const FILE: &str = "../docs/src/json-schema.json";

/// A schema with a definition for each object that the command prints, under the name by which the book has it.
fn schema() -> String {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let objects = [
        ("report", of::<Numbered<Report>>(&mut generator)),
        ("stats", of::<Numbered<Stats>>(&mut generator)),
        ("debug", of::<DebugLine<'_>>(&mut generator)),
        ("results", of::<Vec<Returned>>(&mut generator)),
        ("batch", of::<Numbered<ProcessReport>>(&mut generator)),
        ("inspect", of::<Inspection>(&mut generator)),
    ];
    let mut definitions = Map::from_iter(objects.map(|(name, schema)| (name.to_owned(), schema)));
    definitions.extend(generator.take_definitions(true));
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What gpu-run prints as JSON",
        "$defs": definitions,
    });
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    T::json_schema(generator).to_value()
}

/// With `UPDATE_SCHEMA` in the environment the file is written.
#[test]
fn the_schema_in_the_book_is_fresh() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let schema = schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&file, &schema).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == schema,
        "docs/src/json-schema.json is stale: run `UPDATE_SCHEMA=1 cargo test -p gpu-run --bins schema`"
    );
}
