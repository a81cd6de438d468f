//! The files that a run is bound to: `--input`, `--output` and `--frame`.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use gpu_run::{FrameSize, Store};

use crate::cli::RunArgs;
use crate::progress;
use crate::report::{self, Outcome, Report, code};

/// Bytes that an output may have whose size is not given.
const OUTPUT: u64 = 256 << 20;

/// The files that the run writes when it has ended.
pub struct Files {
    output: Option<Target>,
    frame: Option<Target>,
}

/// A file to be written. What was in it stays until then; a new one is removed again if it never comes to that.
pub struct Target {
    file: File,
    /// Of a file that was not there.
    new: Option<PathBuf>,
}

impl Target {
    /// Opens it, so that it is known that it can be written.
    pub fn open(path: &Path) -> std::io::Result<Target> {
        let mut options = File::options();
        match options.write(true).create_new(true).open(path) {
            Ok(file) => Ok(Target {
                file,
                new: Some(path.to_owned()),
            }),
            // By create once more: it may be a link to a file that is not there.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let file = options.create_new(false).create(true).truncate(false).open(path)?;
                Ok(Target { file, new: None })
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces its contents by what `write` writes.
    pub fn replace<E: From<std::io::Error>>(mut self, write: impl FnOnce(&File) -> Result<(), E>) -> Result<(), E> {
        self.new = None;
        // Pipes and devices have nothing to be replaced.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        write(&self.file)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(path) = &self.new {
            // If it cannot be removed it stays, and is empty.
            _ = std::fs::remove_file(path);
        }
    }
}

/// Binds the store's runs to what the options name. Files to be written are opened now, so that a run does not end
/// with the news that they cannot be.
pub fn bind(args: &RunArgs, store: &mut Store<()>) -> Outcome<Files> {
    let (module, args) = (args.module(), &args.files);
    if let Some(path) = &args.input {
        let bytes = std::fs::read(path).map_err(|error| failed("cannot read the input", path, &error))?;
        store
            .bind_input(&bytes)
            .map_err(|error| report::library(&error, module))?;
    }
    let create = |path: &Option<_>, what: &str| {
        let path: Option<&Path> = path.as_deref();
        path.map(|path| Target::open(path).map_err(|error| failed(what, path, &error)))
            .transpose()
    };
    let output = create(&args.output, "cannot write the output")?;
    if output.is_some() {
        let size = args.output_size.map_or(OUTPUT, |size| size.as_u64());
        store
            .bind_output(size)
            .map_err(|error| report::library(&error, module))?;
    }
    let frame = create(&args.frame, "cannot write the frame")?;
    if frame.is_some() {
        let told = progress::is_seen();
        store
            .bind_frame(args.size, told)
            .map_err(|error| report::library(&error, module))?;
    }
    Ok(Files { output, frame })
}

impl Files {
    /// Writes what the run has written, however it ended.
    pub fn write(self, args: &RunArgs, store: &mut Store<()>) -> Outcome<()> {
        let (module, args) = (args.module(), &args.files);
        if let (Some(target), Some(path)) = (self.output, &args.output) {
            let bytes = store.output().map_err(|error| report::library(&error, module))?;
            let size = args.output_size.map_or(bytes.len() as u64, |size| size.as_u64());
            target
                .replace(|mut file| file.write_all(&bytes).and_then(|()| extend(file, size)))
                .map_err(|error| failed("cannot write the output", path, &error).code(code::LOST))?;
        }
        if let (Some(target), Some(path)) = (self.frame, &args.frame) {
            let pixels = store.frame().map_err(|error| report::library(&error, module))?;
            target
                .replace(|file| write_png(file, args.size, &pixels))
                .map_err(|error| failed("cannot write the frame", path, &error).code(code::LOST))?;
        }
        Ok(())
    }
}

/// Sets the size of a file. Pipes and devices have none.
fn extend(file: &File, size: u64) -> std::io::Result<()> {
    match file.metadata()?.is_file() {
        true => file.set_len(size),
        false => Ok(()),
    }
}

fn write_png(file: &File, size: FrameSize, pixels: &[u8]) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(BufWriter::new(file), size.width, size.height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()
}

/// The report of a file that cannot be read or written.
pub fn failed(what: &str, path: &Path, error: &dyn std::fmt::Display) -> Report {
    Report::new(format!("{what}: {error}")).at(path.display().to_string())
}
