//! cargo run --example whole_body < FILE

use brimful::{Collector, FromRead, Options, Pool, Progress};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options {
        limit: Some(100_000_000), // one byte more is Error::Limit
        ..Options::default()
    };
    let mut collector = Collector::new(&Pool::process_default(), options)?;
    let mut source = FromRead::new(std::io::stdin());
    while collector.read(&mut source)? == Progress::Pending {}
    let body = collector.finish()?;
    println!("{} bytes in one piece", body.contiguous()?.len());
    Ok(())
}
