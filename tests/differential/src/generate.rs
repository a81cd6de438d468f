//! Random modules, by wasm-smith.

use arbitrary::Unstructured;
use fastrand::Rng;
use wasm_smith::{Config, MemoryOffsetChoices, Module};

use crate::proposals::Proposal;

/// Bytes of randomness that a module is made of, at most.
const BYTES: usize = 16 << 10;

/// A random module without imports.
///
/// # Errors
///
/// wasm-smith found no module for this randomness.
pub fn generate(rng: &mut Rng, proposals: &[Proposal]) -> Result<Vec<u8>, String> {
    let config = config(rng, proposals);
    let mut bytes = vec![0; rng.usize(256..BYTES)];
    rng.fill(&mut bytes);
    module(config, &bytes)
}

/// The module that some bytes stand for.
///
/// # Errors
///
/// As for [`generate`].
pub fn module(config: Config, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let module = Module::new(config, &mut Unstructured::new(bytes)).map_err(|error| error.to_string())?;
    Ok(module.to_bytes())
}

/// A kind of modules.
pub fn config(rng: &mut Rng, proposals: &[Proposal]) -> Config {
    let has = |proposal| proposals.contains(&proposal);
    let mut config = Config::default();
    config.max_imports = 0;
    config.export_everything = true;
    config.min_funcs = 1;
    config.max_funcs = rng.usize(1..10);
    config.max_instructions = rng.usize(20..400);
    config.max_data_segments = 4;
    config.max_element_segments = 4;
    config.max_elements = 10;
    config.max_globals = rng.usize(..8);
    config.max_types = 12;
    config.max_tags = 4;
    config.disallow_traps = rng.u32(..4) != 0;
    config.allow_start_export = rng.u32(..8) == 0;
    // Vectors have NaNs inside, which only wasm-smith knows where to find.
    config.canonicalize_nans = has(Proposal::Simd);
    let memories = if has(Proposal::MultiMemory) { 3 } else { 1 };
    config.max_memories = rng.usize(..=memories);
    config.max_memory32_bytes = 3 << 16;
    config.max_memory64_bytes = 3 << 16;
    config.memory_max_size_required = true;
    config.memory_offset_choices = MemoryOffsetChoices(98, 1, 1);
    let tables = if has(Proposal::ReferenceTypes) { 3 } else { 1 };
    config.max_tables = rng.usize(..=tables);
    config.max_table_elements = 24;
    config.table_max_size_required = true;
    config.sign_extension_ops_enabled = has(Proposal::SignExtension);
    config.saturating_float_to_int_enabled = has(Proposal::SaturatingFloatToInt);
    config.multi_value_enabled = has(Proposal::MultiValue);
    config.bulk_memory_enabled = has(Proposal::BulkMemory);
    config.reference_types_enabled = has(Proposal::ReferenceTypes);
    config.extended_const_enabled = has(Proposal::ExtendedConst);
    config.simd_enabled = has(Proposal::Simd);
    config.relaxed_simd_enabled = has(Proposal::RelaxedSimd);
    config.tail_call_enabled = has(Proposal::TailCall);
    config.memory64_enabled = has(Proposal::Memory64);
    config.threads_enabled = has(Proposal::Threads);
    config.exceptions_enabled = has(Proposal::Exceptions);
    config.gc_enabled = false;
    config.custom_page_sizes_enabled = false;
    config.wide_arithmetic_enabled = false;
    config.compact_imports_enabled = false;
    config
}
