//! The `gridlock` binary; see the library of the same name.

fn main() -> std::process::ExitCode {
    gridlock::run()
}
