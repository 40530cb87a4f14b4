//! The project's own conformance vectors, through the same code that `make vectors` runs.

#[path = "../examples/vectors/case.rs"]
mod case;
#[path = "../examples/vectors/run.rs"]
mod run;
#[path = "../examples/vectors/script.rs"]
mod script;

use std::path::Path;

fn vectors() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors")
}

#[test]
fn every_vector_holds_in_every_drive_result_and_memory() {
    let tally = run::folder(&vectors()).expect("the vectors can be read");
    assert!(
        tally.failures.is_empty(),
        "{} vectors failed:\n{}",
        tally.failures.len(),
        tally.failures.join("\n")
    );
    assert!(tally.passed >= 110, "only {} vectors ran", tally.passed);
}

#[test]
fn a_vector_with_an_unknown_key_or_status_is_a_failure_and_not_a_skip() {
    let refused = |text: &str| {
        let value = serde_json::from_str(text).expect("this is JSON");
        case::parse(&value)
            .err()
            .map(|(name, problem)| format!("{name}: {problem}"))
    };
    let key = refused(r#"{"name": "a", "source": [], "expect": {"status": "ok", "lenght": 3}}"#);
    assert!(key.is_some_and(|problem| problem.contains("a: unknown key lenght")));
    let status = refused(r#"{"name": "b", "source": [], "expect": {"status": "okay"}}"#);
    assert!(status.is_some_and(|problem| problem.contains("not okay")));
    assert!(refused(r#"{"name": "c", "source": [{"gives": 1}], "expect": {"status": "ok"}}"#).is_some());
    assert!(refused(r#"{"name": "d", "source": [], "expect": {"status": "ok"}, "options": {"limt": 1}}"#).is_some());
    assert!(refused(r#"{"name": "e", "source": [{"give": 1}], "expect": {"status": "ok"}}"#).is_none());
}

#[test]
fn every_vector_has_a_name_of_its_own() {
    let mut names = std::collections::HashSet::new();
    for entry in std::fs::read_dir(vectors()).expect("the vectors are there") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).expect("readable");
            let cases: Vec<serde_json::Value> = serde_json::from_str(&text).expect("an array of cases");
            for value in cases {
                let name = value["name"].as_str().expect("a name").to_owned();
                assert!(
                    names.insert(name.clone()),
                    "{name} stands twice, the second time in {}",
                    path.display()
                );
            }
        }
    }
}
