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

/// A language, the file extensions of a row (empty for all of the language), and the grammars to try in
/// turn for them.
type GrammarRow = (&'static str, &'static [&'static str], &'static [Grammar]);

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
    ("rust", &[], &[grammar("rust", tree_sitter_rust::LANGUAGE)]),
    ("python", &["py", "pyi", "pyw"], &[grammar("python", tree_sitter_python::LANGUAGE)]),
    ("javascript", &[], &[JAVASCRIPT]),
    ("typescript", &["tsx"], &[grammar("tsx", tree_sitter_typescript::LANGUAGE_TSX)]),
    (
        "typescript",
        &["ts", "mts", "cts"],
        &[grammar("typescript", tree_sitter_typescript::LANGUAGE_TYPESCRIPT)],
    ),
    ("go", &[], &[grammar("go", tree_sitter_go::LANGUAGE)]),
    ("java", &[], &[grammar("java", tree_sitter_java::LANGUAGE)]),
    #[cfg(feature = "grammars-c")]
    ("c", &["c"], &[C]),
    // A header may be C or C++.
    #[cfg(feature = "grammars-c")]
    ("c", &["h"], &[C, CPP]),
    #[cfg(feature = "grammars-c")]
    ("c++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"], &[CPP]),
    #[cfg(feature = "grammars-dotnet")]
    ("c#", &[], &[grammar("c#", tree_sitter_c_sharp::LANGUAGE)]),
    #[cfg(feature = "grammars-scripts")]
    ("ruby", &[], &[grammar("ruby", tree_sitter_ruby::LANGUAGE)]),
    #[cfg(feature = "grammars-scripts")]
    ("php", &[], &[grammar("php", tree_sitter_php::LANGUAGE_PHP)]),
    #[cfg(feature = "grammars-scripts")]
    ("lua", &[], &[grammar("lua", tree_sitter_lua::LANGUAGE)]),
    #[cfg(feature = "grammars-scripts")]
    ("shell", &["sh", "bash"], &[grammar("bash", tree_sitter_bash::LANGUAGE)]),
    (
        "json",
        &["json", "jsonc", "ipynb", "webmanifest"],
        &[grammar("json", tree_sitter_json::LANGUAGE)],
    ),
    ("css", &[], &[grammar("css", tree_sitter_css::LANGUAGE)]),
    ("html", &["html", "htm"], &[grammar("html", tree_sitter_html::LANGUAGE)]),
    ("toml", &["toml"], &[grammar("toml", tree_sitter_toml_ng::LANGUAGE)]),
];

/// The grammars for a path; empty if there is none for its language.
pub(super) fn for_path(path: &str) -> &'static [Grammar] {
    let Some(language) = Language::from_path(path) else { return &[] };
    let extension = path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    let covers = |(name, extensions, _): &&GrammarRow| {
        let has_extension = |extension| extensions.contains(&extension);
        *name == language.name
            && (extensions.is_empty() || extension.as_deref().is_some_and(has_extension))
    };
    ROWS.iter().find(covers).map_or(&[], |(_, _, grammars)| grammars)
}

/// Every grammar, each once.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static Grammar> {
    let mut seen = std::collections::HashSet::new();
    ROWS.iter()
        .flat_map(|(_, _, grammars)| *grammars)
        .filter(move |grammar| seen.insert(grammar.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_a_language_and_every_grammar_loads() {
        for (name, extensions, _) in ROWS {
            let language = Language::from_name(name).expect(name);
            assert_eq!(language.name, *name);
            for extension in *extensions {
                assert!(language.extensions.contains(extension), "{name} {extension}");
            }
        }
        for grammar in all() {
            let mut parser = tree_sitter::Parser::new();
            parser.set_language(&grammar.language.into()).expect(grammar.name);
        }
        #[cfg(feature = "all-grammars")]
        assert_eq!(all().count(), 18);
    }
}
