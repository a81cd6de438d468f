//! Writes the files that are made from the opcode table.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (path, text) in gpu_run_bytecode::generate::files() {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("the paths have folders"))?;
        std::fs::write(path, text)?;
    }
    Ok(())
}
