//! What the generator knows about a file by its name: enough to group the score
//! and to tell a comment from code.

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language {
    /// Its name in tables.
    pub name: &'static str,
    /// How a comment line starts; empty where there is none.
    pub comments: &'static [&'static str],
    /// Prose has apostrophes and no statements.
    pub prose: Prose,
}

/// Whether a file is code or running text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Prose {
    /// Code or data.
    No,
    /// Running text.
    Yes,
}

const SLASHES: &[&str] = &["//", "/*", "*"];
const HASH: &[&str] = &["#"];

const fn code(name: &'static str, comments: &'static [&'static str]) -> Language {
    Language { name, comments, prose: Prose::No }
}

const TABLE: &[(&[&str], Language)] = &[
    (&["rs"], code("rust", SLASHES)),
    (&["py", "pyi"], code("python", HASH)),
    (&["js", "mjs", "cjs", "jsx"], code("javascript", SLASHES)),
    (&["ts", "tsx", "mts", "cts"], code("typescript", SLASHES)),
    (&["go"], code("go", SLASHES)),
    (&["c", "h"], code("c", SLASHES)),
    (&["cc", "cpp", "cxx", "hh", "hpp", "mm"], code("c++", SLASHES)),
    (&["java"], code("java", SLASHES)),
    (&["kt", "kts"], code("kotlin", SLASHES)),
    (&["swift"], code("swift", SLASHES)),
    (&["m"], code("objective-c", SLASHES)),
    (&["cs"], code("c#", SLASHES)),
    (&["php"], code("php", &["//", "/*", "*", "#"])),
    (&["rb", "podspec", "gemspec"], code("ruby", HASH)),
    (&["pl", "pm"], code("perl", HASH)),
    (&["lua"], code("lua", &["--"])),
    (&["sh", "bash"], code("shell", HASH)),
    (&["css", "scss", "less"], code("css", &["/*", "*", "//"])),
    (&["html", "htm", "xml", "svg", "vue"], code("html", &["<!--"])),
    (&["json"], code("json", &[])),
    (&["yaml", "yml"], code("yaml", HASH)),
    (&["toml", "cfg", "ini"], code("toml", HASH)),
    (&["mk", "am", "m4", "cmake"], code("make", HASH)),
    (&["md", "rst", "txt"], Language { name: "markdown", comments: &[], prose: Prose::Yes }),
];

impl Language {
    /// The language of a path; `None` for files the generator does not use.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next()?;
        let extension = match name {
            "Makefile" | "GNUmakefile" | "CMakeLists.txt" => "mk",
            _ => name.rsplit_once('.')?.1,
        };
        let row = TABLE.iter().find(|(extensions, _)| extensions.contains(&extension))?;
        Some(row.1)
    }

    /// The language of a text: two end in `.m`, and only one has comments that begin with `%`.
    pub fn told_by(self, text: &str) -> Self {
        let is_matlab = || text.lines().any(|line| line.trim_start().starts_with('%'));
        if self.name == "objective-c" && is_matlab() { code("matlab", &["%", "#"]) } else { self }
    }

    /// Whether a line is a comment and nothing else.
    pub fn is_comment(&self, line: &str) -> bool {
        let body = line.trim_start();
        self.comments.iter().any(|mark| body.starts_with(mark)) && !body.ends_with('\\')
    }
}
