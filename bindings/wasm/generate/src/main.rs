//! `generate MODULE FOLDER` writes the JavaScript for a WebAssembly module, as
//! `wasm-bindgen --target web` does.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("usage: generate MODULE FOLDER");
        return ExitCode::from(2);
    };
    let mut generator = Bindgen::new();
    let done = generator
        .input_path(module)
        .out_name("native")
        .web(true)
        .and_then(|generator| generator.omit_default_module_path(true).typescript(true).generate(folder));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("generate: {module}: {error:?}");
            ExitCode::FAILURE
        }
    }
}
