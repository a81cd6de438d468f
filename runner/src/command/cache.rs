//! `gpu-run cache`, and where the cache of compiled programs is.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use bytesize::ByteSize;
use gpu_run_vm::cuda::cache::{Cache, DEFAULT_LIMIT, Kind};

use crate::cli::{CacheArgs, CacheCommand};
use crate::report::{Outcome, Report};
use crate::sink::write_stdout;

const FOLDER: &str = "GPU_RUN_CACHE_DIR";
const SIZE: &str = "GPU_RUN_CACHE_SIZE";

/// The cache that the environment says; none if it names no folder, or the system has no place for it.
pub fn open() -> Outcome<Option<Cache>> {
    let limit = match std::env::var(SIZE) {
        Ok(text) => text
            .parse::<ByteSize>()
            .map_err(|error| Report::new(format!("{SIZE}={text} is no size: {error}")).help("write 500MiB or 2GiB"))?
            .as_u64(),
        Err(_) => DEFAULT_LIMIT,
    };
    let folder = match std::env::var_os(FOLDER) {
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(PathBuf::from(folder)),
        None => Cache::default_folder(),
    };
    Ok(folder.map(|folder| Cache::new(folder, limit)))
}

/// A time for people. File systems hold times that a date of four digits cannot say: they are as near as can be.
fn time(time: SystemTime) -> impl Display {
    // The last second of the year 9999.
    let last = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    humantime::format_rfc3339_seconds(time.clamp(SystemTime::UNIX_EPOCH, last))
}

/// Shows or clears the cache.
pub fn cache(args: &CacheArgs) -> Outcome<ExitCode> {
    let Some(cache) = open()? else {
        return Err(Report::new("there is no cache: no folder for it is known").help(format!("name one with {FOLDER}")));
    };
    let place = || cache.folder().display().to_string();
    let error = |what: &str, error: io::Error| Report::new(format!("cannot {what} the cache: {error}")).at(place());
    let text = match args.command {
        None | Some(CacheCommand::List) => {
            let entries = cache.list().map_err(|why| error("read", why))?;
            let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
            let lines = entries.iter().map(|entry| {
                let name = entry.path.file_stem().unwrap_or_default().to_string_lossy();
                let used = time(entry.used);
                let what = if entry.kind == Kind::Profile { "  profile" } else { "" };
                format!(
                    "{name:.16}  {:>10}  used {used}{what}\n",
                    ByteSize(entry.bytes).to_string()
                )
            });
            let lines: String = lines.collect();
            let programs = entries.iter().filter(|entry| entry.kind == Kind::Cubin).count();
            let (profiles, limit) = (entries.len() - programs, ByteSize(cache.limit()));
            format!(
                "{lines}{programs} programs and {profiles} profiles, {} of at most {limit} in {}\n",
                ByteSize(total),
                place()
            )
        }
        Some(CacheCommand::Clear) => {
            let (count, bytes) = cache.clear().map_err(|why| error("clear", why))?;
            format!("{count} entries removed, {}\n", ByteSize(bytes))
        }
        Some(CacheCommand::Path) => place() + "\n",
    };
    write_stdout(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_of_a_file_is_shown() {
        let (year, epoch) = (Duration::from_secs(365 * 24 * 3600), SystemTime::UNIX_EPOCH);
        for (used, shown) in [
            (epoch + year, "1971-01-01T00:00:00Z"),
            (epoch - year, "1970-01-01T00:00:00Z"),
            (epoch + 9000 * year, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(time(used).to_string(), shown);
        }
    }
}
