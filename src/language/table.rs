//! The table of languages.

use super::{BlockComment, Language, LexSupport, Nesting, Quote, QuoteEscape, QuoteExtent};

/// A literal with the same delimiter at both ends.
const fn quote(mark: &'static str, escape: QuoteEscape, extent: QuoteExtent) -> Quote {
    Quote { open: mark, close: mark, escape, extent }
}

const SLASH_STAR: BlockComment = BlockComment { open: "/*", close: "*/", nesting: Nesting::Flat };
const NESTED: BlockComment = BlockComment { open: "/*", close: "*/", nesting: Nesting::Nested };
const MARKUP: BlockComment = BlockComment { open: "<!--", close: "-->", nesting: Nesting::Flat };

const DOUBLE: Quote = quote("\"", QuoteEscape::Backslash, QuoteExtent::Line);
const SINGLE: Quote = quote("'", QuoteEscape::Backslash, QuoteExtent::Line);
const TRIPLE: Quote = quote("\"\"\"", QuoteEscape::Backslash, QuoteExtent::Lines);
const TRIPLE_SINGLE: Quote = quote("'''", QuoteEscape::Backslash, QuoteExtent::Lines);
const RAW_BACKTICK: Quote = quote("`", QuoteEscape::None, QuoteExtent::Lines);
const TEMPLATE: Quote = quote("`", QuoteEscape::Backslash, QuoteExtent::Lines);
const DOUBLE_LINES: Quote = quote("\"", QuoteEscape::Backslash, QuoteExtent::Lines);
const SINGLE_RAW_LINES: Quote = quote("'", QuoteEscape::None, QuoteExtent::Lines);
const SINGLE_LINES: Quote = quote("'", QuoteEscape::Backslash, QuoteExtent::Lines);
const SINGLE_DOUBLED: Quote = quote("'", QuoteEscape::Doubled, QuoteExtent::Lines);
const DOUBLE_DOUBLED: Quote = quote("\"", QuoteEscape::Doubled, QuoteExtent::Lines);

const RAW_TRIPLE: Quote = quote("\"\"\"", QuoteEscape::None, QuoteExtent::Lines);
const VERBATIM: Quote =
    Quote { open: "@\"", close: "\"", escape: QuoteEscape::Doubled, extent: QuoteExtent::Lines };

const LONG_BRACKETS: Quote =
    Quote { open: "[[", close: "]]", escape: QuoteEscape::None, extent: QuoteExtent::Lines };

const BASE: Language = Language {
    name: "",
    extensions: &[],
    file_names: &[],
    line_comments: &[],
    block_comments: &[],
    quotes: &[],
    lex_support: LexSupport::Comments,
};

const SLASHES: Language = Language {
    line_comments: &["//"],
    block_comments: &[SLASH_STAR],
    lex_support: LexSupport::Full,
    ..BASE
};
const HASH: Language = Language { line_comments: &["#"], ..BASE };

/// Every language. Longer quotes come before shorter ones.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        name: "rust",
        extensions: &["rs"],
        block_comments: &[NESTED],
        quotes: &[DOUBLE_LINES],
        ..SLASHES
    },
    Language {
        name: "python",
        extensions: &["py", "pyi", "pyw", "bzl", "star"],
        file_names: &["BUILD", "WORKSPACE", "SConstruct"],
        quotes: &[TRIPLE, TRIPLE_SINGLE, DOUBLE, SINGLE],
        lex_support: LexSupport::Full,
        ..HASH
    },
    Language {
        name: "javascript",
        extensions: &["js", "mjs", "cjs", "jsx"],
        quotes: &[TEMPLATE, DOUBLE, SINGLE],
        ..SLASHES
    },
    Language {
        name: "typescript",
        extensions: &["ts", "tsx", "mts", "cts"],
        quotes: &[TEMPLATE, DOUBLE, SINGLE],
        ..SLASHES
    },
    Language {
        name: "go",
        extensions: &["go"],
        quotes: &[RAW_BACKTICK, DOUBLE, SINGLE],
        ..SLASHES
    },
    Language { name: "c", extensions: &["c", "h"], quotes: &[DOUBLE, SINGLE], ..SLASHES },
    Language {
        name: "c++",
        extensions: &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "mm", "cu"],
        quotes: &[DOUBLE, SINGLE],
        ..SLASHES
    },
    Language { name: "java", extensions: &["java"], quotes: &[TRIPLE, DOUBLE, SINGLE], ..SLASHES },
    Language {
        name: "kotlin",
        extensions: &["kt", "kts"],
        block_comments: &[NESTED],
        quotes: &[TRIPLE, DOUBLE, SINGLE],
        ..SLASHES
    },
    Language {
        name: "scala",
        extensions: &["scala", "sc"],
        block_comments: &[NESTED],
        quotes: &[TRIPLE, DOUBLE],
        lex_support: LexSupport::Tokens,
        ..SLASHES
    },
    Language {
        name: "swift",
        extensions: &["swift"],
        block_comments: &[NESTED],
        quotes: &[TRIPLE, DOUBLE],
        ..SLASHES
    },
    Language {
        name: "c#",
        extensions: &["cs"],
        quotes: &[
            quote("\"\"\"\"", QuoteEscape::None, QuoteExtent::Lines),
            RAW_TRIPLE,
            VERBATIM,
            Quote { open: "@$\"", ..VERBATIM },
            DOUBLE,
            SINGLE,
        ],
        lex_support: LexSupport::Tokens,
        ..SLASHES
    },
    Language {
        name: "dart",
        extensions: &["dart"],
        quotes: &[TRIPLE, TRIPLE_SINGLE, DOUBLE, SINGLE],
        ..SLASHES
    },
    Language {
        name: "objective-c",
        extensions: &["m"],
        quotes: &[DOUBLE, SINGLE],
        lex_support: LexSupport::Tokens,
        ..SLASHES
    },
    Language {
        name: "php",
        extensions: &["php"],
        line_comments: &["//", "#"],
        lex_support: LexSupport::Tokens,
        quotes: &[DOUBLE_LINES, SINGLE_LINES],
        ..SLASHES
    },
    Language {
        name: "zig",
        extensions: &["zig"],
        line_comments: &["//"],
        block_comments: &[],
        quotes: &[DOUBLE, SINGLE],
        ..SLASHES
    },
    Language { name: "protobuf", extensions: &["proto"], quotes: &[DOUBLE, SINGLE], ..SLASHES },
    Language {
        name: "css",
        extensions: &["css"],
        line_comments: &[],
        quotes: &[DOUBLE, SINGLE],
        lex_support: LexSupport::Comments,
        ..SLASHES
    },
    Language {
        name: "scss",
        extensions: &["scss", "less", "sass"],
        quotes: &[DOUBLE, SINGLE],
        lex_support: LexSupport::Comments,
        ..SLASHES
    },
    Language {
        name: "json",
        extensions: &["json", "jsonc", "json5", "ipynb", "webmanifest"],
        quotes: &[DOUBLE],
        ..SLASHES
    },
    Language {
        name: "sql",
        extensions: &["sql"],
        line_comments: &["--"],
        quotes: &[SINGLE_DOUBLED, DOUBLE_DOUBLED],
        lex_support: LexSupport::Tokens,
        ..SLASHES
    },
    Language {
        name: "shell",
        extensions: &["sh", "bash", "zsh", "ksh"],
        file_names: &[".bashrc", ".profile", ".zshrc"],
        quotes: &[DOUBLE_LINES, SINGLE_RAW_LINES],
        ..HASH
    },
    Language {
        name: "powershell",
        extensions: &["ps1", "psm1", "psd1"],
        block_comments: &[BlockComment { open: "<#", close: "#>", nesting: Nesting::Flat }],
        quotes: &[DOUBLE_DOUBLED, SINGLE_DOUBLED],
        ..HASH
    },
    Language {
        name: "ruby",
        extensions: &["rb", "podspec", "gemspec", "rake"],
        file_names: &["Gemfile", "Rakefile", "Podfile"],
        quotes: &[DOUBLE_LINES, SINGLE_LINES],
        ..HASH
    },
    Language {
        name: "perl",
        extensions: &["pl", "pm", "t"],
        quotes: &[DOUBLE_LINES, SINGLE_LINES],
        ..HASH
    },
    Language {
        name: "elixir",
        extensions: &["ex", "exs"],
        quotes: &[TRIPLE, DOUBLE_LINES],
        ..HASH
    },
    Language { name: "r", extensions: &["r"], quotes: &[DOUBLE_LINES, SINGLE_LINES], ..HASH },
    Language { name: "julia", extensions: &["jl"], quotes: &[TRIPLE, DOUBLE], ..HASH },
    Language { name: "yaml", extensions: &["yaml", "yml"], quotes: &[DOUBLE], ..HASH },
    Language {
        name: "toml",
        extensions: &["toml"],
        quotes: &[TRIPLE, TRIPLE_SINGLE, DOUBLE, quote("'", QuoteEscape::None, QuoteExtent::Line)],
        lex_support: LexSupport::Full,
        ..HASH
    },
    Language {
        name: "ini",
        extensions: &["cfg", "ini", "conf", "properties", "env"],
        line_comments: &["#", ";"],
        ..BASE
    },
    Language {
        name: "make",
        extensions: &["mk", "mak", "am", "m4"],
        file_names: &["Makefile", "GNUmakefile", "makefile"],
        ..HASH
    },
    Language {
        name: "cmake",
        extensions: &["cmake"],
        file_names: &["CMakeLists.txt"],
        quotes: &[DOUBLE_LINES],
        ..HASH
    },
    Language {
        name: "dockerfile",
        extensions: &["dockerfile"],
        file_names: &["Dockerfile", "Containerfile"],
        ..HASH
    },
    Language {
        name: "terraform",
        extensions: &["tf", "tfvars", "hcl"],
        line_comments: &["#", "//"],
        quotes: &[DOUBLE],
        lex_support: LexSupport::Comments,
        ..SLASHES
    },
    Language {
        name: "lua",
        extensions: &["lua"],
        line_comments: &["--"],
        block_comments: &[BlockComment { open: "--[[", close: "]]", nesting: Nesting::Flat }],
        quotes: &[LONG_BRACKETS, DOUBLE, SINGLE],
        lex_support: LexSupport::Tokens,
        ..BASE
    },
    Language {
        name: "haskell",
        extensions: &["hs"],
        line_comments: &["--"],
        block_comments: &[BlockComment { open: "{-", close: "-}", nesting: Nesting::Nested }],
        quotes: &[DOUBLE],
        ..BASE
    },
    Language {
        name: "lisp",
        extensions: &["el", "lisp", "clj", "cljs", "scm", "rkt"],
        line_comments: &[";"],
        quotes: &[DOUBLE_LINES],
        ..BASE
    },
    Language {
        name: "tex",
        extensions: &["tex", "sty", "cls", "bib"],
        line_comments: &["%"],
        ..BASE
    },
    Language { name: "vim", extensions: &["vim"], ..BASE },
    Language {
        name: "html",
        extensions: &[
            "html", "htm", "xml", "svg", "vue", "svelte", "xhtml", "plist", "csproj", "astro",
        ],
        block_comments: &[MARKUP],
        ..BASE
    },
    Language {
        name: "markdown",
        extensions: &["md", "mdx", "markdown", "rst", "adoc"],
        lex_support: LexSupport::Prose,
        ..BASE
    },
    Language {
        name: "text",
        extensions: &["txt", "text", "log", "csv", "tsv"],
        file_names: &["LICENSE", "README", "CHANGES", "AUTHORS"],
        lex_support: LexSupport::Prose,
        ..BASE
    },
    Language {
        name: "diff",
        extensions: &["patch", "diff"],
        lex_support: LexSupport::Prose,
        ..BASE
    },
];
