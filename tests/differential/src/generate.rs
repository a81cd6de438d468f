//! Random modules, by wasm-smith.

use arbitrary::Unstructured;
use fastrand::Rng;
use wasm_smith::{Config, MemoryOffsetChoices, Module};

use crate::proposals::Proposal;

/// Bytes of randomness that a module is made of, at most.
const BYTES: usize = 32 << 10;

/// A random module without imports.
///
/// # Errors
///
/// wasm-smith found no module for this randomness.
pub fn generate(rng: &mut Rng, proposals: &[Proposal]) -> Result<Vec<u8>, String> {
    let config = config(rng, proposals);
    let mut bytes = vec![0; rng.usize(1024..BYTES)];
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
    let memories = if has(Proposal::MultiMemory) { 3 } else { 1 };
    let tables = if has(Proposal::ReferenceTypes) { 3 } else { 1 };
    Config {
        max_imports: 0,
        export_everything: true,
        min_types: 3,
        min_funcs: 1,
        max_funcs: rng.usize(1..10),
        max_instructions: rng.usize(20..400),
        max_data_segments: 4,
        max_element_segments: 4,
        max_elements: 10,
        max_globals: rng.usize(..8),
        max_types: 12,
        max_tags: 4,
        disallow_traps: rng.u32(..4) != 0,
        allow_start_export: rng.u32(..8) == 0,
        max_memories: rng.usize(..=memories),
        max_memory32_bytes: 3 << 16,
        max_memory64_bytes: 3 << 16,
        memory_max_size_required: true,
        memory_offset_choices: MemoryOffsetChoices(98, 1, 1),
        max_tables: rng.usize(..=tables),
        max_table_elements: 24,
        table_max_size_required: true,
        sign_extension_ops_enabled: has(Proposal::SignExtension),
        saturating_float_to_int_enabled: has(Proposal::SaturatingFloatToInt),
        multi_value_enabled: has(Proposal::MultiValue),
        bulk_memory_enabled: has(Proposal::BulkMemory),
        reference_types_enabled: has(Proposal::ReferenceTypes),
        extended_const_enabled: has(Proposal::ExtendedConst),
        simd_enabled: has(Proposal::Simd),
        relaxed_simd_enabled: has(Proposal::RelaxedSimd),
        tail_call_enabled: has(Proposal::TailCall),
        memory64_enabled: has(Proposal::Memory64),
        threads_enabled: has(Proposal::Threads),
        exceptions_enabled: has(Proposal::Exceptions),
        gc_enabled: false,
        custom_page_sizes_enabled: false,
        wide_arithmetic_enabled: false,
        compact_imports_enabled: false,
        ..Config::default()
    }
}
