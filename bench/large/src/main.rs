//! A large module: many crates behind one `match`. It is there to be translated, not run.

use std::fmt::Debug;
use std::hint::black_box;

fn show(value: impl Debug) {
    println!("{value:?}");
}

fn images(bytes: &[u8]) {
    let Ok(image) = image::load_from_memory(bytes) else {
        return;
    };
    let image = image
        .resize(64, 64, image::imageops::FilterType::Lanczos3)
        .blur(1.0)
        .rotate90();
    for format in image::ImageFormat::all() {
        let mut out = std::io::Cursor::new(Vec::new());
        show(image.write_to(&mut out, format));
    }
}

fn shaders(text: &str, bytes: &[u8]) {
    use naga::back::{glsl, hlsl, msl, spv, wgsl};
    use naga::valid::{Capabilities, ValidationFlags, Validator};
    let module = match text.len() % 3 {
        0 => naga::front::wgsl::parse_str(text).ok(),
        1 => naga::front::spv::parse_u8_slice(bytes, &Default::default()).ok(),
        _ => naga::front::glsl::Frontend::default()
            .parse(&naga::front::glsl::Options::from(naga::ShaderStage::Compute), text)
            .ok(),
    };
    let Some(module) = module else { return };
    let Ok(info) = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module) else {
        return;
    };
    show(wgsl::write_string(&module, &info, wgsl::WriterFlags::all()));
    show(msl::write_string(&module, &info, &Default::default(), &Default::default()).map(|(text, _)| text));
    show(spv::write_vec(&module, &info, &Default::default(), None));
    let mut out = String::new();
    let (options, pipeline) = (hlsl::Options::default(), hlsl::PipelineOptions::default());
    show(hlsl::Writer::new(&mut out, &options, &pipeline).write(&module, &info, None).is_ok());
    show(out);
    let (options, pipeline) = (
        glsl::Options::default(),
        glsl::PipelineOptions {
            shader_stage: naga::ShaderStage::Compute,
            entry_point: "main".to_owned(),
            multiview: None,
        },
    );
    let mut out = String::new();
    if let Ok(mut writer) = glsl::Writer::new(&mut out, &module, &info, &options, &pipeline, Default::default()) {
        show(writer.write());
    }
}

fn machine_code(text: &str) {
    use cranelift_codegen::{Context, control::ControlPlane, isa, settings};
    for arch in ["x86_64", "aarch64"] {
        let isa = isa::lookup_by_name(arch)
            .expect("built in")
            .finish(settings::Flags::new(settings::builder()))
            .expect("plain settings");
        for function in cranelift_reader::parse_functions(text).unwrap_or_default() {
            let mut context = Context::for_function(function);
            if let Ok(code) = context.compile(&*isa, &mut ControlPlane::default()) {
                show(code.code_buffer());
            }
        }
    }
}

fn wasm(text: &str, bytes: &[u8]) {
    show(wasmparser::Validator::new_with_features(wasmparser::WasmFeatures::all()).validate_all(bytes).is_ok());
    if let Ok(buffer) = wast::parser::ParseBuffer::new(text) {
        show(wast::parser::parse::<wast::Wat>(&buffer).and_then(|mut wat| wat.encode()));
    }
}

fn main() {
    let bytes: Vec<u8> = black_box(Vec::new());
    let text: String = black_box(String::new());
    match black_box(0) {
        0 => images(&bytes),
        1 => shaders(&text, &bytes),
        2 => machine_code(&text),
        3 => wasm(&text, &bytes),
        4 => show(regex::Regex::new(&text).map(|regex| regex.replace_all(&text, "$1").into_owned())),
        5 => show(serde_json::from_str::<serde_json::Value>(&text)),
        6 => show(syn::parse_file(&text)),
        7 => show(rustpython_parser::parse(&text, rustpython_parser::Mode::Module, "guest.py")),
        _ => {
            let mut out = String::new();
            pulldown_cmark::html::push_html(&mut out, pulldown_cmark::Parser::new(&text));
            show(out);
        }
    }
}
