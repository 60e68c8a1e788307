//! Laws of calls that are repaired. A file is made of blocks, some of them equal or nearly so; a call
//! changes some of its lines, and is then spoiled as models spoil calls. What is applied must be what
//! the call was before it was spoiled, and what was made is not made again.

use std::collections::BTreeMap;

use restitch::edit::{EditPlan, EditRequest, Expected};
use restitch::internals::matching::explain;
use restitch::internals::text::Snapshot;

use crate::long::count;
use crate::random::Random;

macro_rules! blocks {
    ($($file:literal: $($block:literal)*;)*) => { &[$(($file, &[$($block),*])),*] };
}

/// Blocks of files; `$` is a number.
const BLOCKS: &[(&str, &[&str])] = blocks! {
    "a.go":
        "func load$(ctx context.Context, id int) (*Item, error) {\n\tif id == $ {\n\t\treturn nil, fmt.Errorf(\"no item %d\\n\", id)\n\t}\n\tfor _, row := range rows {\n\t\tif row.ID == id {\n\t\t\t// The first one wins.\n\t\t\treturn &row, nil\n\t\t}\n\t}\n\n\treturn nil, nil\n}\n\n"
        "type Config$ struct {\n\tName string `json:\"name\"`\n\tSize int    `json:\"size\"`\n\tTags []string\n}\n\n"
        "const query$ = `\nSELECT id\n  FROM items\n WHERE size > $\n`\n\n"
        "var limits = map[string]int{\n\t\"small\": 1,\n\t\"large\": $,\n}\n\n";
    "a.py":
        "class Store$:\n    \"\"\"Keeps the items.\"\"\"\n\n    def __init__(self, path, size=$):\n        self.path = path\n        self.size = size\n        self.items = {}\n\n    def get(self, key):\n        # Missing keys are fine.\n        if key not in self.items:\n            return None\n        return self.items[key]\n\n\n"
        "def handle$(request):\n    try:\n        data = json.loads(request.body)\n    except ValueError:\n        log.warning('bad \"body\"')\n        return error(400)\n    for name, value in data.items():\n        if value > $:\n            save(name, value)\n        else:\n            drop(name)\n    return ok()\n\n\n"
        "SQL_$ = '''\nSELECT *\n    FROM t\n'''\n\n\n"
        "COLORS = [\n    \"red\",\n    \"green\",\n    \"blue\",\n]\n\n\n";
    "a.rs":
        "impl Reader$ {\n    /// Reads the next line.\n    pub fn next(&mut self) -> Option<String> {\n        let line = self.lines.next()?;\n        self.count += $;\n        match line.trim() {\n            \"\" => None,\n            text => Some(text.to_owned()),\n        }\n    }\n}\n\n"
        "fn total$(items: &[Item]) -> u64 {\n    let mut sum = 0;\n    for item in items {\n        if item.price > $ {\n            sum += item.price * 2;\n        }\n    }\n    sum\n}\n\n"
        "#[test]\nfn works$() {\n    let text = \"a\\tb\\n\";\n    assert_eq!(parse(text), Ok($));\n    assert!(parse(\"\").is_err());\n}\n\n"
        "enum Kind$ {\n    Small,\n    Large(u32),\n    Other { name: String },\n}\n\n";
    "a.ts":
        "export async function fetch$(url: string): Promise<Item[]> {\n  const response = await http.get(`${url}/items?limit=$`);\n  if (!response.ok) {\n    throw new Error('failed: ' + response.status);\n  }\n  return response.json();\n}\n\n"
        "export const Panel$ = ({ items, onPick }: Props) => {\n  const [open, setOpen] = useState(false);\n\n  return (\n    <div className=\"panel\">\n      {items.map((item) => (\n        <Row key={item.id} onClick={() => onPick(item)} />\n      ))}\n      <button onClick={() => setOpen(!open)}>more $</button>\n    </div>\n  );\n};\n\n"
        "const options$ = {\n  name: 'x',\n  retries: $,\n  nested: {\n    deep: true,\n  },\n};\n\n"
        "// Waits until all are done.\nawait Promise.all(jobs$.map((job) => job.run()));\n\n";
    "a.c":
        "static int parse_$(const char *text, size_t len)\n{\n\tsize_t i;\n\n\tfor (i = 0; i < len; i++) {\n\t\tif (text[i] == '\\n')\n\t\t\tgoto out;\n\t\tcount += $;\n\t}\nout:\n\treturn i;\n}\n\n"
        "#ifdef HAVE_$\n# include <x.h>\n#define SIZE $\n#else\n#define SIZE 0\n#endif\n\n"
        "struct node$ {\n\tstruct node *next;\n\tint value;\t/* the value */\n};\n\n";
    "a.yaml":
        "service$:\n  image: app:$\n  ports:\n    - \"80:80\"\n    - \"443:443\"\n  environment:\n    MODE: fast\n    # Only for tests.\n    DEBUG: \"0\"\n\n"
        "steps:\n  - name: build $\n    run: |\n      make all\n      make test\n  - name: ship\n    run: ./ship.sh\n\n";
    "a.sh":
        "run_$() {\n  local dir=\"$1\"\n  if [ -d \"$dir\" ]; then\n    cat <<EOF > \"$dir/conf\"\nname = $\n  deep = 1\nEOF\n  fi\n  for f in *.txt; do\n    echo \"$f\"\n  done\n}\n\n"
        "export PATH$=/opt/$/bin:$PATH\nset -eu\n\n";
    "a.toml":
        "[package$]\nname = \"a\"\nversion = \"1.$.0\"\nkeywords = [\n  \"x\",\n  \"y\",\n]\n\n"
        "[features]\ndefault = [\"std\"]\nextra = []\n\n";
    "a.md":
        "## Part $\n\nSome text about “this” – and that.\n\n* one\n* two\n  * deeper $\n\n```sh\nnpm i\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | $ |\n\n";
    "a.html":
        "<section id=\"s$\">\n  <h2>Title $</h2>\n  <ul>\n    <li>one</li>\n    <li>two &amp; three</li>\n  </ul>\n</section>\n\n"
        "<script>\n  let x = $;\n  go(x, 'y');\n</script>\n\n";
    "a.txt":
        "Chapter $\n\nIt was late.  The train had left\nat $, and nobody came.\n\n    quoted\n\n";
};

/// Words and lines that calls add.
const WORDS: &[&str] = &["alpha", "beta", "42", "7", "more", "fresh"];
const LINES: &[&str] = &["added();", "x_added: 1", "added = 1", "# added", "added"];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_full(line: &str) -> bool {
    !line.trim().is_empty()
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

fn body(line: &str) -> &str {
    &line[indent(line).len()..]
}

/// A file of some blocks.
fn file_of(dice: &mut Random, blocks: &[&str]) -> String {
    let mut out = String::new();
    for _ in 0..3 + dice.below(6) {
        let number = dice.below(4).to_string();
        out.push_str(&dice.pick(blocks).replace('$', &number));
    }
    out
}

/// The line with another word in it; `None` if it has no word.
fn reword(dice: &mut Random, line: &str) -> Option<String> {
    let starts: Vec<usize> = line
        .char_indices()
        .filter(|&(at, c)| is_word(c) && !line[..at].ends_with(is_word))
        .map(|(at, _)| at)
        .collect();
    if starts.is_empty() {
        return None;
    }
    let at = *dice.pick(&starts);
    let end = line[at..].find(|c| !is_word(c)).map_or(line.len(), |end| at + end);
    let word = dice.pick(WORDS);
    (line[at..end] != **word).then(|| format!("{}{word}{}", &line[..at], &line[end..]))
}

/// Some of the lines changed, removed or added; `None` if nothing came of it.
fn edited(dice: &mut Random, old: &[String]) -> Option<Vec<String>> {
    let mut new: Vec<String> = old.to_vec();
    for _ in 0..1 + dice.below(2) {
        if new.is_empty() {
            break;
        }
        let at = dice.below(new.len());
        match dice.below(5) {
            0 | 1 => {
                if let Some(line) = reword(dice, &new[at]) {
                    new[at] = line;
                }
            }
            2 => {
                new.remove(at);
            }
            _ if is_full(&new[at]) => {
                let line = format!("{}{}", indent(&new[at]), dice.pick(LINES));
                new.insert(at + dice.below(2), line);
            }
            _ => {}
        }
    }
    (new != old && !new.is_empty()).then_some(new)
}

macro_rules! spoils {
    ($($name:ident)*) => {
        /// What models do to the texts of a call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Spoil { $($name),* }
        use Spoil::*;
        const SPOILS: &[Spoil] = &[$($name),*];
    };
}

spoils! {
    TrailingBlanks TrailingBlanksOnce Flattened LessDeep Deeper TabsForSpaces SpacesForTabs
    HalfAsDeep TwiceAsDeep LineNumbers Fence DiffMarks CurlyQuotes BlankLineMore BlankLineLess
    OtherComment OtherKeptLine FirstLineAtMargin NoBreakSpaces Entities Spacing OtherQuotes
    NoClosingMark Crlf
}

impl Spoil {
    /// Whether the two together say nothing certain of the text that was meant.
    fn excludes(self, other: Spoil) -> bool {
        let alone = [FirstLineAtMargin, NoBreakSpaces];
        let quotes = [CurlyQuotes, OtherQuotes];
        self == other
            || alone.contains(&self)
            || alone.contains(&other)
            || quotes.contains(&self) && quotes.contains(&other)
    }
}

type Lines = Vec<String>;

/// The lines of `old_str` and `new_str`, spoiled; `None` if it does not apply to them. `first` is the
/// number of the first line, from 0.
fn spoiled(
    kind: Spoil,
    dice: &mut Random,
    old: &[String],
    new: &[String],
    first: usize,
) -> Option<(Lines, Lines)> {
    let each = |lines: &[String], change: &dyn Fn(&str) -> String| -> Lines {
        lines.iter().map(|line| change(line)).collect()
    };
    let both = |change: &dyn Fn(&str) -> String| Some((each(old, change), each(new, change)));
    let kept = |change: &dyn Fn(&str) -> String| -> Option<(Lines, Lines)> {
        let keep = |line: &String| if old.contains(line) { change(line) } else { line.clone() };
        Some((each(old, change), new.iter().map(keep).collect()))
    };
    let swap = |line: &str, by: &str| {
        let swapped = |lines: &[String]| {
            each(lines, &|other| if other == line { by.to_owned() } else { other.to_owned() })
        };
        Some((swapped(old), swapped(new)))
    };
    let depth = || {
        let full = old.iter().chain(new).filter(|line| is_full(line));
        full.map(|line| indent(line).len()).min().unwrap_or(0)
    };
    let has_tabs = old.iter().any(|line| line.starts_with('\t'));
    let cut = |width: usize| {
        (width > 0).then(|| {
            let change = |line: &str| match is_full(line) {
                true => line[width..].to_owned(),
                false => line.to_owned(),
            };
            (each(old, &change), each(new, &change))
        })
    };
    let is_even = |by: usize| {
        let lines = || old.iter().chain(new);
        !lines().any(|line| line.starts_with('\t') || !indent(line).len().is_multiple_of(by))
            && old.iter().any(|line| indent(line).len() >= by)
    };
    let shared: Vec<&String> = old.iter().filter(|l| new.contains(l) && is_full(l)).collect();
    match kind {
        TrailingBlanks => {
            both(&|line| if is_full(line) { format!("{line} ") } else { line.to_owned() })
        }
        TrailingBlanksOnce => {
            let mut old = old.to_vec();
            let at = dice.below(old.len());
            is_full(&old[at]).then(|| old[at].push_str("  "))?;
            Some((old, new.to_vec()))
        }
        Flattened => cut(depth()),
        LessDeep => {
            let unit = if has_tabs { 1 } else { 2 };
            cut(if depth() >= unit { unit } else { 0 })
        }
        Deeper => {
            let unit = if has_tabs { "\t" } else { "    " };
            both(&|line| if is_full(line) { format!("{unit}{line}") } else { line.to_owned() })
        }
        TabsForSpaces => old
            .iter()
            .any(|line| line.starts_with("    "))
            .then(|| both(&|line| indent(line).replace("    ", "\t") + body(line)).expect("both")),
        SpacesForTabs => has_tabs
            .then(|| both(&|line| indent(line).replace('\t', "    ") + body(line)).expect("both")),
        HalfAsDeep => is_even(4)
            .then(|| both(&|line| line[indent(line).len() / 2..].to_owned()).expect("both")),
        TwiceAsDeep => {
            is_even(2).then(|| both(&|line| format!("{}{line}", indent(line))).expect("both"))
        }
        LineNumbers => {
            let number = |lines: &[String]| {
                let lines = lines.iter().enumerate();
                lines.map(|(at, line)| format!("{:>5}→{line}", first + at + 1)).collect()
            };
            Some((number(old), number(new)))
        }
        Fence => {
            let fence = |lines: &[String]| {
                let mut fenced = vec!["```".to_owned()];
                fenced.extend(lines.iter().cloned());
                fenced.push("```".to_owned());
                fenced
            };
            Some((fence(old), fence(new)))
        }
        DiffMarks => {
            Some((each(old, &|line| format!("-{line}")), each(new, &|line| format!("+{line}"))))
        }
        CurlyQuotes => both(&|line| line.replace('"', "”").replace('\'', "’")),
        BlankLineMore => {
            let at = old.iter().position(|line| is_full(line))?;
            let in_new = new.iter().position(|line| *line == old[at])?;
            let (mut old, mut new) = (old.to_vec(), new.to_vec());
            old.insert(at, String::new());
            new.insert(in_new, String::new());
            Some((old, new))
        }
        BlankLineLess => {
            let without = |lines: &[String]| {
                let at = lines.iter().position(|line| !is_full(line))?;
                let mut lines = lines.to_vec();
                lines.remove(at);
                Some(lines)
            };
            Some((without(old)?, without(new)?))
        }
        OtherComment => {
            let is_comment = |line: &&&String| body(line).starts_with(['/', '#']);
            let line = shared.iter().find(is_comment)?;
            let mark = body(line).split(' ').next()?;
            swap(line, &format!("{}{mark} Other words about it.", indent(line)))
        }
        OtherKeptLine => {
            let line = *shared.get(dice.below(shared.len()))?;
            let by = reword(dice, line)?;
            swap(line, &by)
        }
        FirstLineAtMargin => {
            let is_lost = old.len() > 1
                && !indent(&old[0]).is_empty()
                && indent(new.first()?) == indent(&old[0]);
            let lost = |lines: &[String]| {
                let mut lines = lines.to_vec();
                lines[0] = body(&lines[0]).to_owned();
                lines
            };
            is_lost.then(|| (lost(old), lost(new)))
        }
        NoBreakSpaces => {
            let change = |line: &str| indent(line).to_owned() + &body(line).replace(' ', "\u{a0}");
            Some((each(old, &change), new.to_vec()))
        }
        Entities => (!old.iter().any(|line| line.contains("&amp;"))).then(|| {
            let encode = |line: &str| line.replace('&', "&amp;").replace('<', "&lt;");
            both(&encode).expect("both")
        }),
        Spacing => kept(&|line| {
            indent(line).to_owned() + &body(line).replace('(', "( ").replace(" = ", "=")
        }),
        OtherQuotes => kept(&|line| line.replace('"', "'")),
        NoClosingMark => {
            let line = old.iter().find(|line| line.ends_with([',', ';']))?;
            let bare = |line: &str| line.trim_end_matches([',', ';']).to_owned();
            let equal = old.iter().chain(new).filter(|other| bare(other) == bare(line));
            (new.contains(line) && equal.count() == 2).then(|| swap(line, &bare(line)))?
        }
        Crlf => both(&|line| format!("{line}\r")),
    }
}

/// A text without its blank lines.
fn without_blank_lines(text: &str) -> String {
    text.lines().filter(|line| is_full(line)).map(|line| format!("{line}\n")).collect()
}

/// What differs between two texts: where it begins, and where it ends in each.
fn changed(a: &str, b: &str) -> (usize, usize, usize) {
    let head = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let rest = (a.len() - head).min(b.len() - head);
    let tail = a.bytes().rev().zip(b.bytes().rev()).take(rest).take_while(|(a, b)| a == b);
    let tail = tail.count();
    (head, a.len() - tail, b.len() - tail)
}

/// A spoiled call, and what it meant.
struct Case {
    path: &'static str,
    file: String,
    old: String,
    new: String,
    /// `None` if a line that the call changes is another one by now.
    after: Option<String>,
    kinds: Vec<Spoil>,
    /// Whether its blank lines say nothing certain.
    has_loose_blank_lines: bool,
    /// Whether it is sent for all places.
    for_all: bool,
}

impl Case {
    /// What the call gives, and its rung; `None` if it is refused.
    fn apply(&self, file: &str, expected: Expected) -> Option<(String, String)> {
        let call = EditRequest::new(&*self.old, &*self.new).for_path(self.path);
        let snapshot = Snapshot::from_text(file);
        let explained = explain(&call.expecting(expected), &snapshot).ok()?;
        let rung = explained.explanation.rung.to_string();
        Some((EditPlan::new(&snapshot, explained.splices).ok()?.text_after(), rung))
    }
}

/// A random case; `None` if the dice gave none.
fn case(dice: &mut Random) -> Option<Case> {
    let (path, blocks) = *dice.pick(BLOCKS);
    let mut file = file_of(dice, blocks);
    let lines: Lines = file.lines().map(str::to_owned).collect();
    let count = 1 + dice.below(9);
    let from = dice.below(lines.len());
    let to = (from + count).min(lines.len());
    let mut old = lines[from..to].to_vec();
    if !old.iter().any(|line| is_full(line)) {
        return None;
    }
    let mut new = edited(dice, &old)?;
    let after: Lines = lines[..from].iter().chain(&new).chain(&lines[to..]).cloned().collect();
    let is_stale = dice.below(6) == 0;
    let mut kinds: Vec<Spoil> = Vec::new();
    for _ in 0..1 + usize::from(dice.below(4) == 0) {
        let kind = *dice.pick(SPOILS);
        // A tab in a here-document may be meant.
        let is_unclear = kind == TabsForSpaces && path == "a.sh";
        if is_unclear || kinds.iter().any(|other| kind.excludes(*other)) {
            continue;
        }
        if let Some(texts) = spoiled(kind, dice, &old, &new, from)
            && (texts.0 != old || texts.1 != new)
        {
            (old, new) = texts;
            kinds.push(kind);
        }
    }
    if kinds.is_empty() {
        return None;
    }
    if is_stale {
        let gone: Vec<usize> = (from..to).filter(|&at| !after.contains(&lines[at])).collect();
        let at = *gone.get(dice.below(gone.len()))?;
        let mut by_now = lines.clone();
        by_now[at] = reword(dice, &lines[at])?;
        if after.contains(&by_now[at]) {
            return None;
        }
        file = by_now.join("\n") + "\n";
    }
    let mut after = after.join("\n") + "\n";
    if dice.below(5) == 0 {
        (file, after) = (file.replace('\n', "\r\n"), after.replace('\n', "\r\n"));
    }
    let end = if dice.below(2) == 0 { "\n" } else { "" };
    let (old, new) = (old.join("\n") + end, new.join("\n") + end);
    let has_loose_blank_lines = !is_full(&lines[to - 1])
        || kinds.iter().any(|kind| matches!(kind, BlankLineMore | BlankLineLess));
    let for_all = dice.below(6) == 0;
    let after = (!is_stale).then_some(after);
    (old != new && is_full(&old)).then_some(Case {
        path,
        file,
        old,
        new,
        after,
        kinds,
        has_loose_blank_lines,
        for_all,
    })
}

#[test]
fn repaired_calls_are_as_they_were_meant_and_made_once() {
    let total = count(4_000, 100_000);
    let mut dice = Random::new(7);
    let mut broken: Vec<String> = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut made = 0;
    while made < total {
        let Some(case) = case(&mut dice) else { continue };
        made += 1;
        let expected = if case.for_all { Expected::All } else { Expected::default() };
        let Some((after, rung)) = case.apply(&case.file, expected) else {
            *counts.entry("refused").or_default() += 1;
            continue;
        };
        // What stands there as it was sent is no repair.
        if matches!(rung.as_str(), "exact" | "line_endings") {
            *counts.entry("exact").or_default() += 1;
            continue;
        }
        let is_meant = match &case.after {
            _ if case.for_all => true,
            Some(meant) if case.has_loose_blank_lines => {
                without_blank_lines(&after) == without_blank_lines(meant)
            }
            Some(meant) => after == *meant,
            None => false,
        };
        // Another place like it may be edited by the next call, but not this one again.
        let again = case.apply(&after, expected);
        let is_made_twice = !case.for_all
            && again.is_some_and(|(again, _)| {
                let (from, _, to) = changed(&case.file, &after);
                let (from_again, to_again, _) = changed(&after, &again);
                let touches = from_again <= to && from <= to_again;
                touches && without_blank_lines(&again) != without_blank_lines(&after)
            });
        *counts.entry(if is_meant && !is_made_twice { "right" } else { "wrong" }).or_default() += 1;
        if !is_meant || is_made_twice {
            broken.push(format!(
                "{} {:?} by {rung}{}\n{:?} → {:?}\ngave {after:?}\nmeant {:?}",
                case.path,
                case.kinds,
                if is_made_twice { ", made twice" } else { "" },
                case.old,
                case.new,
                case.after,
            ));
        }
    }
    println!("repaired: {counts:?}");
    assert!(broken.is_empty(), "{} of {total}:\n{}", broken.len(), broken.join("\n\n"));
    assert!(counts["right"] > total * 2 / 5, "most calls were refused: {counts:?}");
}

/// After a call for all places, the same explanation finds no further one.
#[test]
fn no_place_is_left_after_a_call_for_all() {
    let mut dice = Random::new(11);
    let total = count(2_000, 20_000);
    let (mut made, mut applied) = (0, 0);
    while made < total {
        let Some(case) = case(&mut dice) else { continue };
        made += 1;
        let Some((after, rung)) = case.apply(&case.file, Expected::All) else { continue };
        applied += 1;
        let again = case.apply(&after, Expected::All);
        let is_left = again.is_some_and(|(text, by)| {
            by == rung && without_blank_lines(&text) != without_blank_lines(&after)
        });
        // Where new_str has old_str in it, the exact rung finds it again, as it was sent.
        let is_plain = matches!(rung.as_str(), "exact" | "line_endings");
        assert!(
            is_plain || !is_left,
            "{} {:?} by {rung}: {:?} → {:?}\nin {after:?}",
            case.path,
            case.kinds,
            case.old,
            case.new
        );
    }
    assert!(applied > total / 5, "{applied} of {made} were applied");
}
