//! Uses what a Rust library usually has from its standard library: memory, text, and a panic that is caught.

/// The sum of the numbers below `count`, and -1 where `count` is above 1000, by way of a panic.
#[unsafe(no_mangle)]
pub extern "C" fn other_sum(count: u32) -> i64 {
    let sum = || {
        assert!(count <= 1000, "too many");
        let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        numbers.iter().map(|number| number.parse::<i64>().unwrap_or(0)).sum()
    };
    std::panic::catch_unwind(sum).unwrap_or(-1)
}
