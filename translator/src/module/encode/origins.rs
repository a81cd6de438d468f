//! The custom section that maps instructions of an encoded module to the user's file.
//!
//! All integers are LEB128, unsigned unless said otherwise; an index that may be missing is stored
//! plus one, and 0 says that there is none.
//!
//! ```text
//! version     1
//! sites       count, then for each inlined call:
//!               callee       function index in the user's file
//!               offset       of the call in the user's file, may be missing
//!               site         the inlined call that the call was copied by, may be missing
//! functions   count, then for each defined function of this module:
//!               function     function index in the user's file, may be missing
//!               kind         0: as in the file; 1: edited
//!               kind 0:      offset of the body's first byte (its local count) in the user's file;
//!                            every byte of the body lies at the same distance
//!               kind 1:      instruction count, then for each instruction in order:
//!                 flags      bit 0: made by a pass (no offset); bit 1: `site` has changed
//!                 offset     signed: minus that of the function's last instruction with an offset
//!                            (at first 0); only without bit 0
//!                 site       may be missing; only with bit 1 (at first there is none)
//! ```

use wasm_encoder::Encode;

use crate::module::{Body, Module, Origin};

/// Name of the custom section; its format is described in this file's source.
pub const ORIGINS_SECTION: &str = "gpu-run.origins";

const VERSION: u32 = 1;

pub(super) fn encode(module: &Module<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    VERSION.encode(&mut out);
    (module.inline_sites.len() as u32).encode(&mut out);
    for site in &module.inline_sites {
        site.callee.encode(&mut out);
        plus_one(site.call.offset).encode(&mut out);
        plus_one(site.call.site).encode(&mut out);
    }
    (module.funcs.len() as u32).encode(&mut out);
    let imported = module.imported_funcs.len();
    for (i, func) in module.funcs.iter().enumerate() {
        let original = module.original_index.get(imported + i).copied().flatten();
        original.map_or(0, |index| index + 1).encode(&mut out);
        match &func.body {
            Body::Raw(raw) if raw.renumber.is_none() => {
                0u32.encode(&mut out);
                (raw.body.range().start as u32).encode(&mut out);
            }
            _ => {
                1u32.encode(&mut out);
                encode_instrs(func.instrs().map(|instr| instr.origin), &mut out);
            }
        }
    }
    out
}

fn encode_instrs(origins: impl Iterator<Item = Origin>, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    let mut count = 0u32;
    let mut last = Origin {
        offset: 0,
        site: Origin::NOT_INLINED,
    };
    for origin in origins {
        let synthetic = origin.offset == Origin::SYNTHETIC;
        let moved = origin.site != last.site;
        (u32::from(synthetic) | u32::from(moved) << 1).encode(&mut body);
        if !synthetic {
            (i64::from(origin.offset) - i64::from(last.offset)).encode(&mut body);
            last.offset = origin.offset;
        }
        if moved {
            plus_one(origin.site).encode(&mut body);
            last.site = origin.site;
        }
        count += 1;
    }
    count.encode(out);
    out.append(&mut body);
}

/// The two "none" values of [`Origin`] are `u32::MAX`, so that they become 0.
fn plus_one(value: u32) -> u32 {
    value.wrapping_add(1)
}
