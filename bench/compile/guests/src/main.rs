//! Counts the records of a log by what a pattern captures: one record of JSON in each line of standard input.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use clap::{Parser, ValueEnum};
use regex::Regex;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Level {
    Debug,
    #[default]
    Info,
    Warning,
    Error,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
}

/// Counts the records of a log.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Options {
    /// Only records of this level and above
    #[arg(long, value_enum, default_value_t)]
    level: Level,
    /// What the message must match; records are grouped by the first capture
    #[arg(long, default_value = r"^(\w+)")]
    pattern: Regex,
    /// How many groups are shown
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// How they are written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Deserialize)]
struct Record {
    #[serde(default)]
    level: Level,
    message: String,
    host: Option<String>,
    #[serde(default)]
    seconds: f64,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Default, Serialize)]
struct Group {
    records: u64,
    worst: Level,
    seconds: f64,
    hosts: BTreeMap<String, u64>,
    fields: BTreeMap<String, u64>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::parse();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let record: Record = serde_json::from_str(&line?).map_err(|error| format!("line {}: {error}", number + 1))?;
        let Some(found) = options.pattern.captures(&record.message) else {
            continue;
        };
        if record.level < options.level {
            continue;
        }
        let name = found.get(1).or_else(|| found.get(0)).map_or("", |part| part.as_str());
        let group = groups.entry(name.to_string()).or_default();
        group.records += 1;
        group.worst = group.worst.max(record.level);
        group.seconds += record.seconds;
        *group.hosts.entry(record.host.unwrap_or_else(|| "unknown".into())).or_default() += 1;
        for key in record.rest.into_keys() {
            *group.fields.entry(key).or_default() += 1;
        }
    }
    let mut groups: Vec<(String, Group)> = groups.into_iter().collect();
    groups.sort_by(|a, b| b.1.records.cmp(&a.1.records).then_with(|| a.0.cmp(&b.0)));
    groups.truncate(options.top as usize);
    let mut out = std::io::stdout().lock();
    match options.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &groups)?;
            writeln!(out)?;
        }
        Format::Table => {
            for (name, group) in &groups {
                let Group { records, worst, seconds, hosts, .. } = group;
                writeln!(out, "{name:<16}{records:>8} {worst:?} {seconds:>10.3} s on {} hosts", hosts.len())?;
            }
        }
    }
    Ok(())
}
