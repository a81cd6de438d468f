//! Memory at an address that is a multiple of 4 GiB, by the driver's management of virtual addresses: memory is created, a range
//! of addresses is reserved, and the memory is mapped there. It takes whole grains of the driver's, 2 MiB on the GPUs that are
//! known.
//!
//! Of such an address compiled code knows the lower half: it is 0. So a place in a linear memory is the guest's address with
//! the upper half beside it, where it would else be a sum of 64 bits. See `Options::aligned_memory`.

use std::mem::zeroed;

use cudarc::driver::result::DriverError;
use cudarc::driver::sys::{self, CUresult};

use crate::layout::Ptr;

/// Linear memories begin at multiples of this.
const ALIGNMENT: usize = 1 << 32;

/// A call of the driver that failed.
pub type Failed = (&'static str, DriverError);

fn check(call: &'static str, result: CUresult) -> Result<(), Failed> {
    result.result().map_err(|error| (call, error))
}

/// A range of addresses and the memory that is mapped there. None of it belongs to a context.
pub struct Aligned {
    pub ptr: Ptr,
    bytes: usize,
    /// 0 until memory is mapped.
    mapped: sys::CUmemGenericAllocationHandle,
}

impl Aligned {
    /// Maps at least `bytes` on device `ordinal`, which has so many. What is there is not set.
    ///
    /// # Errors
    ///
    /// Those of the driver: there is no room.
    pub fn new(ordinal: i32, bytes: u64) -> Result<Aligned, Failed> {
        let location = sys::CUmemLocation {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: ordinal,
        };
        // SAFETY: 0 is a value of all its fields, and stands for none of what they may ask for.
        let mut kind: sys::CUmemAllocationProp = unsafe { zeroed() };
        kind.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        kind.location = location;
        let access = sys::CUmemAccessDesc {
            location,
            flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        let least = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        let (mut grain, mut handle) = (0, 0);
        let mut range = Aligned {
            ptr: 0,
            bytes: 0,
            mapped: 0,
        };
        // SAFETY: all pointers are to variables that live as long as the calls. What `range` has is given back where one fails.
        unsafe {
            check(
                "cuMemGetAllocationGranularity",
                sys::cuMemGetAllocationGranularity(&mut grain, &kind, least),
            )?;
            range.bytes = (bytes as usize).next_multiple_of(grain.max(1));
            check(
                "cuMemAddressReserve",
                sys::cuMemAddressReserve(&mut range.ptr, range.bytes, ALIGNMENT, 0, 0),
            )?;
            if !(range.ptr as usize).is_multiple_of(ALIGNMENT) {
                return Err(("cuMemAddressReserve", DriverError(CUresult::CUDA_ERROR_NOT_SUPPORTED)));
            }
            check("cuMemCreate", sys::cuMemCreate(&mut handle, range.bytes, &kind, 0))?;
            let mapped = check("cuMemMap", sys::cuMemMap(range.ptr, range.bytes, 0, handle, 0));
            if let Err(error) = mapped {
                _ = sys::cuMemRelease(handle);
                return Err(error);
            }
            range.mapped = handle;
            check(
                "cuMemSetAccess",
                sys::cuMemSetAccess(range.ptr, range.bytes, &access, 1),
            )?;
        }
        Ok(range)
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        if self.ptr == 0 {
            return;
        }
        // SAFETY: made by `new`. The owner uses it no more.
        let given_back = unsafe {
            let unmapped = match self.mapped {
                0 => Ok(()),
                handle => check("cuMemUnmap", sys::cuMemUnmap(self.ptr, self.bytes))
                    .and(check("cuMemRelease", sys::cuMemRelease(handle))),
            };
            unmapped.and(check("cuMemAddressFree", sys::cuMemAddressFree(self.ptr, self.bytes)))
        };
        if let Err((call, error)) = given_back {
            tracing::warn!(
                "{} bytes of device memory are not given back: {call}: {error}",
                self.bytes
            );
        }
    }
}
