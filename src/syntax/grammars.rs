//! The table of tree-sitter grammars for each of our languages.

use tree_sitter_language::LanguageFn;

use crate::language::Language;

/// A tree-sitter grammar.
#[derive(Clone, Copy)]
pub(super) struct Grammar {
    /// The grammar's name, which is part of the key of cached trees.
    pub(super) name: &'static str,
    /// The function that returns the parser's tables.
    pub(super) language: LanguageFn,
}

/// The grammars to try in turn for a language, for all its file extensions or for those listed.
struct GrammarRow {
    language: &'static str,
    extensions: &'static [&'static str],
    grammars: &'static [Grammar],
}

const fn grammar(name: &'static str, language: LanguageFn) -> Grammar {
    Grammar { name, language }
}

#[cfg(feature = "grammars-c")]
const C: Grammar = grammar("c", tree_sitter_c::LANGUAGE);
#[cfg(feature = "grammars-c")]
const CPP: Grammar = grammar("c++", tree_sitter_cpp::LANGUAGE);
const JAVASCRIPT: Grammar = grammar("javascript", tree_sitter_javascript::LANGUAGE);

/// Where a language includes formats that its grammar cannot parse, the row lists the extensions
/// that it can: `.vue` is not parsed as HTML.
const ROWS: &[GrammarRow] = &[
    row("rust", &[], &[grammar("rust", tree_sitter_rust::LANGUAGE)]),
    row("python", &["py", "pyi", "pyw"], &[grammar("python", tree_sitter_python::LANGUAGE)]),
    row("javascript", &[], &[JAVASCRIPT]),
    row("typescript", &["tsx"], &[grammar("tsx", tree_sitter_typescript::LANGUAGE_TSX)]),
    row(
        "typescript",
        &["ts", "mts", "cts"],
        &[grammar("typescript", tree_sitter_typescript::LANGUAGE_TYPESCRIPT)],
    ),
    row("go", &[], &[grammar("go", tree_sitter_go::LANGUAGE)]),
    row("java", &[], &[grammar("java", tree_sitter_java::LANGUAGE)]),
    #[cfg(feature = "grammars-c")]
    row("c", &["c"], &[C]),
    // A header may be C or C++.
    #[cfg(feature = "grammars-c")]
    row("c", &["h"], &[C, CPP]),
    #[cfg(feature = "grammars-c")]
    row("c++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"], &[CPP]),
    #[cfg(feature = "grammars-dotnet")]
    row("c#", &[], &[grammar("c#", tree_sitter_c_sharp::LANGUAGE)]),
    #[cfg(feature = "grammars-scripts")]
    row("ruby", &[], &[grammar("ruby", tree_sitter_ruby::LANGUAGE)]),
    #[cfg(feature = "grammars-scripts")]
    row("php", &[], &[grammar("php", tree_sitter_php::LANGUAGE_PHP)]),
    #[cfg(feature = "grammars-scripts")]
    row("lua", &[], &[grammar("lua", tree_sitter_lua::LANGUAGE)]),
    #[cfg(feature = "grammars-scripts")]
    row("shell", &["sh", "bash"], &[grammar("bash", tree_sitter_bash::LANGUAGE)]),
    row(
        "json",
        &["json", "jsonc", "ipynb", "webmanifest"],
        &[grammar("json", tree_sitter_json::LANGUAGE)],
    ),
    row("css", &[], &[grammar("css", tree_sitter_css::LANGUAGE)]),
    row("html", &["html", "htm"], &[grammar("html", tree_sitter_html::LANGUAGE)]),
    row("toml", &["toml"], &[grammar("toml", tree_sitter_toml_ng::LANGUAGE)]),
];

const fn row(
    language: &'static str,
    extensions: &'static [&'static str],
    grammars: &'static [Grammar],
) -> GrammarRow {
    GrammarRow { language, extensions, grammars }
}

/// The grammars for a path; empty if there is none for its language.
pub(super) fn for_path(path: &str) -> &'static [Grammar] {
    let Some(language) = Language::from_path(path) else { return &[] };
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let covers_extension = |row: &GrammarRow| {
        let extension = extension.as_deref();
        row.extensions.is_empty()
            || extension.is_some_and(|extension| row.extensions.contains(&extension))
    };
    let mut rows = ROWS.iter().filter(|row| row.language == language.name);
    rows.find(|row| covers_extension(row)).map_or(&[], |row| row.grammars)
}

/// Every grammar, each once.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static Grammar> {
    let mut seen = std::collections::HashSet::new();
    ROWS.iter().flat_map(|row| row.grammars).filter(move |grammar| seen.insert(grammar.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_a_language_and_every_grammar_loads() {
        for row in ROWS {
            let language = Language::from_name(row.language).expect(row.language);
            assert_eq!(language.name, row.language);
            for extension in row.extensions {
                assert!(language.extensions.contains(extension), "{} {extension}", row.language);
            }
        }
        for grammar in all() {
            let mut parser = tree_sitter::Parser::new();
            parser.set_language(&grammar.language.into()).expect(grammar.name);
        }
        #[cfg(feature = "all-grammars")]
        assert_eq!(all().count(), 18);
    }

    #[test]
    fn a_path_names_its_grammars() {
        #[cfg(feature = "all-grammars")]
        assert_eq!(for_path("a.h").len(), 2);
        let names = |path: &str| -> Vec<&str> { for_path(path).iter().map(|g| g.name).collect() };
        assert_eq!(names("src/a.rs"), ["rust"]);
        assert_eq!(names("a.TSX"), ["tsx"]);
        assert_eq!(names("a.mts"), ["typescript"]);
        for path in ["a.vue", "a.json5", "BUILD", "a.md", "a.zig", "none", "a.scss"] {
            assert!(for_path(path).is_empty(), "{path}");
        }
    }
}
