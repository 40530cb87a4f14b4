fn main() {
    napi_build::setup();
    // V8 lets the last strings of a worker go after Node has closed the worker's addons; the function that gives their
    // memory back must still be there (string.rs).
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
