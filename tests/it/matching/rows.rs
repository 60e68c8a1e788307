//! One row a case: name, file, old, new, and the file after or the code.

use restitch::edit::{EditCode, EditRequest};
use restitch::internals::language::{Language, in_language};

use super::apply;

enum Want {
    /// The rung, and the file after.
    After(&'static str, &'static str),
    Refused(EditCode),
}
use Want::{After, Refused};

struct Row {
    name: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
    want: Want,
}

macro_rules! rows {
    ($($name:ident: $file:expr, $old:expr, $new:expr => $want:expr;)*) => {
        &[$(Row { name: stringify!($name), file: $file, old: $old, new: $new, want: $want }),*]
    };
}

const BASICS: &[Row] = rows! {
    exact: "a\nb\nc\n", "b", "B" => After("exact", "a\nB\nc\n");
    exact_in_mid_line: "let x = f(1);\n", "f(1)", "g(2)" => After("exact", "let x = g(2);\n");
    exact_covers_the_file: "a\n", "a\n", "b\n" => After("exact", "b\n");
    exact_deletes: "a\nb\nc\n", "b\n", "" => After("exact", "a\nc\n");
    exact_is_literal: "x\n", "x", "$& \\1 ${x} $1" => After("exact", "$& \\1 ${x} $1\n");
    line_numbers_but_on_blank_lines: "f() {\n\n  g();\n}\n", "7\tf() {\n\n9\t  g();\n10\t}", "7\tf() {\n\n9\t  h();\n10\t}" => After("line_numbers", "f() {\n\n  h();\n}\n");
    line_numbers_tell_twins_apart: "f();\ng();\nx();\nf();\ng();\n", "4|f();\n5|g();", "4|f();\n5|h();" => After("line_numbers", "f();\ng();\nx();\nf();\nh();\n");
    line_numbers_of_no_twin: "f();\ng();\nx();\nf();\ng();\n", "3|f();\n4|g();", "3|f();\n4|h();" => Refused(EditCode::OccurrenceMismatch);
};

const INDENTATION: &[Row] = rows! {
    one_tab_too_few_in_go: "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n", "if a {\n\tb()\n}\n", "if a {\n\tc()\n\td()\n}\n" => After("indentation", "func f() {\n\tif a {\n\t\tc()\n\t\td()\n\t}\n}\n");
    one_tab_too_few_in_a_makefile: "all: x\n\t@echo a\n\t@echo b\n\ny:\n\ttrue\n", "@echo a\n@echo b\n", "@echo a\n@echo c\n" => After("indentation", "all: x\n\t@echo a\n\t@echo c\n\ny:\n\ttrue\n");
    one_level_too_many: "a:\n  b: 1\n  c: 2\n", "    b: 1\n    c: 2\n", "    b: 1\n    c: 3\n" => After("indentation", "a:\n  b: 1\n  c: 3\n");
    spaces_for_tabs: "\tif x {\n\t\ty()\n\t}\n", "    if x {\n        y()\n    }", "    if x {\n        y()\n        z()\n    }" => After("indentation", "\tif x {\n\t\ty()\n\t\tz()\n\t}\n");
    tabs_for_spaces: "  if x:\n    y()\n", "\tif x:\n\t\ty()", "\tif x:\n\t\tz()" => After("indentation", "  if x:\n    z()\n");
    two_spaces_for_four: "def f():\n    if x:\n        y()\n", "def f():\n  if x:\n    y()", "def f():\n  if x:\n    y()\n    z()" => After("indentation", "def f():\n    if x:\n        y()\n        z()\n");
    lost_first_indent: "class A:\n    def f(self):\n        return 1\n", "def f(self):\n        return 1", "def f(self):\n        return 2" => After("exact", "class A:\n    def f(self):\n        return 2\n");
    lost_first_indent_and_a_block_of_its_own: "a:\n  b:\n    c: 1  \n    d: 2\n", "b:\n    c: 1\n    d: 2", "b:\n  c: 1\n  d: 3" => Refused(EditCode::Ambiguous);
    a_depth_that_old_str_has_not: "def f():\n    if a:\n        pass\n", "def f():\n  if a:\n    pass", "def f():\n  for b in a:\n    if b:\n      return 1" => After("indentation", "def f():\n    for b in a:\n        if b:\n            return 1\n");
    new_lines_at_the_files_depth: "f {\n\t\ta();\n\t\tb();\n}\n", "\ta();\n\tb();\n", "\ta();\n\t\tnew();\n\tb();\n" => Refused(EditCode::Ambiguous);
    wrapped_in_a_block: "f {\n\t\ta();\n\t\tb();\n}\n", "\ta();\n\tb();\n", "\tif x {\n\t\ta();\n\t\tb();\n\t}\n" => After("indentation", "f {\n\t\tif x {\n\t\t\ta();\n\t\t\tb();\n\t\t}\n}\n");
    wrapped_inside_its_parent: "<ul>\n    <li>\n        <b>x</b>\n        {del && (\n            <i onClick={() => {\n                if (sure(1)) {\n                    remove();\n                }\n            }} />\n        )}\n    </li>\n</ul>\n", "    {del && (\n        <i onClick={() => {\n            if (sure(1)) {\n                remove();\n            }\n        }} />\n    )}", "    <p>\n        {del && (\n            <i onClick={() => {\n                if (\n                    sure(\n                        1,\n                    )\n                ) {\n                    remove();\n                }\n            }} />\n        )}\n    </p>" => After("indentation", "<ul>\n    <li>\n        <b>x</b>\n        <p>\n            {del && (\n                <i onClick={() => {\n                    if (\n                        sure(\n                            1,\n                        )\n                    ) {\n                        remove();\n                    }\n                }} />\n            )}\n        </p>\n    </li>\n</ul>\n");
    no_line_is_kept_and_new_str_is_at_the_files_depth: "f {\n\t\ta();\n\t\tb();\n}\n", "\ta();\n\tb();\n", "\t\tc();\n\t\td();\n" => After("indentation", "f {\n\t\tc();\n\t\td();\n}\n");
    no_line_is_kept_and_new_str_is_not_at_the_files_depth: "f {\n\t\ta();\n\t\tb();\n}\n", "\ta();\n\tb();\n", "\tc();\n\td();\n" => After("indentation", "f {\n\t\tc();\n\t\td();\n}\n");
    twins_at_two_depths: "a {\n\tx();\n\ty();\n}\nb {\n\t\t\tx();\n\t\t\ty();\n}\n", "\t\tx();\n\t\ty();\n", "\t\tx();\n\t\tz();\n" => Refused(EditCode::OccurrenceMismatch);
};

const ENDINGS: &[Row] = rows! {
    crlf_file: "a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n" => After("line_endings", "a\r\nx\r\ny\r\nc\r\n");
    crlf_call: "a\nb\nc\n", "a\r\nb", "a\r\nx" => After("line_endings", "a\nx\nc\n");
    mixed_file_keeps_each_line: "a\r\nb\nc\r\nd\n", "b\nc\nd", "b\nnew\nd" => After("line_endings", "a\r\nb\nnew\r\nd\n");
    crlf_in_new_str_only: "a\nb\n", "b", "x\r\ny" => After("exact", "a\nx\ny\n");
    crlf_in_a_mixed_file_is_literal: "a\nb\r\n", "a", "x\r\ny" => After("exact", "x\r\ny\nb\r\n");
    no_final_newline: "a\nb", "a\nb\n", "a\nc\n" => After("line_endings", "a\nc");
    deletion_of_the_last_line: "a\nb", "b\n", "" => After("line_endings", "a\n");
    lone_carriage_return_is_content: "a\rb\nc\n", "c", "d" => After("exact", "a\rb\nd\n");
};

const UNICODE: &[Row] = rows! {
    typographic_file: "say “hi” – it’s me…\n", "say \"hi\" - it's me...", "say \"ho\" - it's me..." => After("look_alikes", "say “ho” – it’s me…\n");
    typographic_call: "x = \"a\"\ny = \"b\"\n", "x = “a”\ny = “b”", "x = “a”\nz = “c”" => After("look_alikes", "x = \"a\"\nz = \"c\"\n");
    no_break_space: "a\u{a0}b\n", "a b", "a c" => After("look_alikes", "a\u{a0}c\n");
    an_arrow_is_no_dash: "# a – b\n", "# a - b", "# a -> b" => After("look_alikes", "# a -> b\n");
    two_dashes_are_not_one: "run x – y\n", "run x - y", "run x --y" => After("look_alikes", "run x --y\n");
    depth_of_one_line_is_no_look_alike: "\tname\tbob\n", "  name\tbob", "  name\tann" => After("indentation", "\tname\tann\n");
    depth_and_typography_of_one_line: "    “quoted” text\n", "  \"quoted\" text", "  \"quoted\" word" => After("look_alikes_and_indentation", "    “quoted” word\n");
    blanks_around_a_part_are_no_look_alikes: "name = bob x\n", "= bob  ", "= ann  " => After("trailing_blanks", "name = ann x\n");
    two_dots_are_no_ellipsis: "wait… now\n", "wait... now", "wait.. now" => After("look_alikes", "wait.. now\n");
    no_break_space_between_words_that_go: "a\u{a0}b\n", "a b", "hi there" => After("look_alikes", "hi there\n");
    composed_and_decomposed: "caf\u{e9} one\n", "cafe\u{301} one", "cafe\u{301} two" => After("look_alikes", "caf\u{e9} two\n");
    zero_width: "a\u{200b}b c\n", "ab c", "ab d" => After("look_alikes", "a\u{200b}b d\n");
    full_width: "ｆ（1）;\nend\n", "f(1);\nend", "f(2);\nend" => After("look_alikes", "ｆ（2）;\nend\n");
    curly_quotes_can_be_written: "'%s'\n", "'%s'", "‘%s’" => After("exact", "‘%s’\n");
};

const ESCAPES: &[Row] = rows! {
    quotes_only: "f(\"a\");\n", "f(\\\"a\\\");", "f(\\\"b\\\");\ng();" => After("unescaped", "f(\"b\");\ng();\n");
    breaks_only: "p(\"\\n\");\nq();\n", "p(\"\\n\");\\nq();", "p(\"\\n\");\\nr();" => After("unescaped", "p(\"\\n\");\nr();\n");
    tabs_only: "\tp();\n\tq();\n", "\\tp();\n\\tq();", "\\tp();\n\\tr();" => After("unescaped", "\tp();\n\tr();\n");
    backslashes: "re = /\\d+\\.x/;\n", "re = /\\\\d+\\\\.x/;", "re = /\\\\w+\\\\.x/;" => After("unescaped", "re = /\\w+\\.x/;\n");
    new_was_not_escaped: "a\nb\n", "a\\nb", "print('\\n')\nb" => After("unescaped", "print('\\n')\nb\n");
    latex_is_left_alone: "\\title{a}\n\\newline\n", "\\title{a}", "\\title{b}\\newpage" => After("exact", "\\title{b}\\newpage\n\\newline\n");
};

const REFUSALS: &[Row] = rows! {
    absent: "a\nb\n", "nothing like it", "x" => Refused(EditCode::NoOccurrence);
    overlapping: "aaa\n", "aa", "b" => Refused(EditCode::OccurrenceMismatch);
    blank_only: "a\nb\n", "   \n", "x" => Refused(EditCode::NoOccurrence);
    already_applied: "def area(r):\n    return math.pi * r\n", "    return 3 * r * r", "    return math.pi * r" => Refused(EditCode::AlreadyApplied);
    placeholder: "a();\nb();\nc();\n", "a();\nb();\nc();", "a(1);\n// ... rest of the code ..." => Refused(EditCode::Omission);
    other_number: "one()\ntwo(20)\nthree()\nfour()\n", "one()\ntwo(10)\nthree()\nfour()", "one()\ntwo(30)\nthree()\nfour()" => Refused(EditCode::NoOccurrence);
    middle_rewritten: "start()\nalpha(1)\nbeta(2)\nend()\n", "start()\nother(x)\nthing(y)\nend()", "start()\nend()" => Refused(EditCode::NoOccurrence);
    nul: "a\n", "a", "b\0" => Refused(EditCode::InvalidArguments);
};

/// Found by the corpus or by hand; each stays.
const REGRESSIONS: &[Row] = rows! {
    escapes_mixed_with_raw_breaks: "if x {\n\tprint(\"a\")\n}\nend\n", "if x {\\n\tprint(\\\"a\\\")\n}", "if x {\\n\tprint(\\\"b\\\")\n}" => After("unescaped", "if x {\n\tprint(\"b\")\n}\nend\n");
    trailing_comma_is_not_doubled: "{\n  type: \"x\",\n  next: 1\n}\n", "    type: \"x\"\n    next: 1", "    type: \"y\",\n    next: 1" => After("punctuation", "{\n  type: \"y\",\n  next: 1\n}\n");
    inserted_mark_goes_before_the_blank: "import { a } from './a';\nimport b from './b';\n", "import { a } from \"./a\";\nimport b from \"./b\";", "import { a, c } from \"./a\";\nimport b from \"./b\";" => After("punctuation", "import { a, c } from './a';\nimport b from './b';\n");
    a_bare_ellipsis_says_nothing: "def f():\n    ...\n", "…", "pass" => Refused(EditCode::NoOccurrence);
    spread_is_not_a_placeholder: "let a = [\n  ...existing,\n];\n", "  ...existing,\n", "  ...existing,\n  ...more,\n" => After("exact", "let a = [\n  ...existing,\n  ...more,\n];\n");
    double_spaced_call: "a();\nb();\nc();\n", "a();\n\nb();\n\nc();\n", "a();\n\nx();\n\nc();\n" => After("blank_lines", "a();\nx();\nc();\n");
    blank_part_of_an_elision: "a(1)\n\nb(2)\nc(3)\n\nd(4)\n", "a(1)\n\n# ... existing code ...\n\nd(4)\n", "a(1)\n\n# ... existing code ...\n\nd(5)\n" => After("elided", "a(1)\n\nb(2)\nc(3)\n\nd(5)\n");
    prefixed_literals: "digest(b\":\".join(x))\nlog(f\"{a}\")\n", "digest(b':'.join(x))\nlog(f'{a}')", "digest(b':'.join(y))\nlog(f'{a}')" => After("punctuation", "digest(b\":\".join(y))\nlog(f\"{a}\")\n");
};

/// For each rung, in the order of the ladder: a call that it forgives, and one where it stops.
/// The language is JavaScript.
const RUNGS: &[Row] = rows! {
    exact: "a();\nb();\n", "b();", "c();" => After("exact", "a();\nc();\n");
    exact_stops_at_two_places: "a();\nb();\na();\n", "a();", "c();" => Refused(EditCode::OccurrenceMismatch);
    line_endings: "a();\r\nb();\r\n", "a();\nb();", "a();\nc();" => After("line_endings", "a();\r\nc();\r\n");
    line_endings_stops_at_a_lone_return: "a();\rb();\n", "a();\nb();", "c();" => Refused(EditCode::NoOccurrence);
    unescaped: "a(\"x\");\nb();\n", "a(\\\"x\\\");\\nb();", "a(\\\"y\\\");\\nb();" => After("unescaped", "a(\"y\");\nb();\n");
    unescaped_stops_where_the_plain_text_is_absent: "ab();\nc();\n", "a\\nb();", "d();" => Refused(EditCode::NoOccurrence);
    line_numbers: "a();\nb();\n", "1|a();\n2|b();", "1|a();\n2|c();" => After("line_numbers", "a();\nc();\n");
    line_numbers_stops_where_they_go_down: "a();\nb();\n", "9|a();\n3|b();", "c();" => Refused(EditCode::NoOccurrence);
    diff_markers: "a();\nb();\n", " a();\n-b();", " a();\n+c();" => After("diff_markers", "a();\nc();\n");
    diff_markers_stops_at_other_marks: "a();\nb();\n", "*a();\n*b();", "*a();\n*c();" => Refused(EditCode::NoOccurrence);
    code_fence: "a();\nb();\n", "```js\nb();\n```", "```js\nc();\n```" => After("code_fence", "a();\nc();\n");
    code_fence_stops_at_other_text: "a();\nb();\n", "```js\nx();\n```", "```js\nc();\n```" => Refused(EditCode::NoOccurrence);
    html_entities: "if (a < b) c();\n", "if (a &lt; b) c();", "if (a &lt; d) c();" => After("html_entities", "if (a < d) c();\n");
    html_entities_stops_at_unknown_ones: "if (a < b) c();\n", "if (a &less; b) c();", "d();" => Refused(EditCode::NoOccurrence);
    outer_blank_lines: "a();\nb();\nc();\n", "\n\na();\nb();", "\n\na();\nd();" => After("outer_blank_lines", "a();\nd();\nc();\n");
    outer_blank_lines_stops_at_other_lines: "a();\nb();\n", "\n\na();\nx();\n\n", "c();" => Refused(EditCode::NoOccurrence);
    trailing_blanks: "a();\nb();\n", "a();  \nb();  ", "a();  \nc();  " => After("trailing_blanks", "a();\nc();\n");
    trailing_blanks_stops_amid_the_line: "ab();\nc();\n", "a  b();\nc();", "d();" => Refused(EditCode::NoOccurrence);
    look_alikes: "say(\"hi\"); // it's\n", "say(“hi”); // it’s", "say(“ho”); // it’s" => After("look_alikes", "say(\"ho\"); // it's\n");
    look_alikes_stops_at_letters_and_digits: "a = O1;\n", "a = 01;", "a = 02;" => Refused(EditCode::NoOccurrence);
    indentation: "{\n\t\ta();\n\t\tb();\n}\n", "\ta();\n\tb();", "\ta();\n\tc();" => After("indentation", "{\n\t\ta();\n\t\tc();\n}\n");
    indentation_stops_at_two_depths: "{\n\ta();\n\tb();\n\t\ta();\n\t\tb();\n}\n", "a();\nb();", "a();\nc();" => Refused(EditCode::OccurrenceMismatch);
    look_alikes_and_indentation: "{\n\tsay(\"hi\");\n\tend();\n}\n", "say(“hi”);\nend();", "say(“hi”);\nstop();" => After("look_alikes_and_indentation", "{\n\tsay(\"hi\");\n\tstop();\n}\n");
    look_alikes_and_indentation_stops_at_words: "{\n\tsay(\"hi\");\n\tend();\n}\n", "tell(“you”);\nstart();", "x();" => Refused(EditCode::NoOccurrence);
    blank_lines: "a();\n\n\nb();\n", "a();\nb();", "a();\nc();" => After("blank_lines", "a();\n\n\nc();\n");
    blank_lines_stops_at_a_line_between: "a();\nx(1);\nb();\n", "a();\n\nb();", "a();\nc();\nb();" => Refused(EditCode::NoOccurrence);
    spacing: "f( a,b );\ng();\n", "f(a, b);\ng();", "f(a, c);\ng();" => After("spacing", "f( a,c );\ng();\n");
    spacing_stops_in_literals: "f(\"a b\");\n", "f(\"a  b\");", "g();" => Refused(EditCode::NoOccurrence);
    punctuation: "f('a');\ng();\n", "f(\"a\");\ng();", "f(\"b\");\ng();" => After("punctuation", "f('b');\ng();\n");
    punctuation_stops_at_other_marks: "f('a');\ng();\n", "f('a'):\ng();", "h();" => Refused(EditCode::NoOccurrence);
    reflowed: "call(first,\n     second);\nend();\n", "call(first, second);\nend();", "call(first, second);\nstop();" => After("reflowed", "call(first,\n     second);\nstop();\n");
    reflowed_and_deeper_keeps_a_blank_line: "foo(a,\n\n  b);\nbar();\n", "foo(a, b);\nbar();\n", "if (x) {\n  foo(a, b);\n  bar();\n}\n" => After("reflowed", "if (x) {\n  foo(a,\n\n    b);\n  bar();\n}\n");
    reflowed_stops_at_words: "call(first,\n     second);\nend();\n", "call(first, other);\nend();", "call(first, third);\nend();" => Refused(EditCode::NoOccurrence);
    elided: "f() {\n\ta(1);\n\tb(2);\n\tc(3);\n}\n", "f() {\n\t// ... existing code ...\n\tc(3);\n}", "f() {\n\t// ... existing code ...\n\tc(4);\n}" => After("elided", "f() {\n\ta(1);\n\tb(2);\n\tc(4);\n}\n");
    elided_stops_where_code_would_go: "f() {\n\ta(1);\n\tb(2);\n}\n", "\ta(1);\n\tb(2);", "\ta(2);\n\t// ... existing code ..." => Refused(EditCode::Omission);
    aligned: "// adds two numbers\nfunction add(a, b) {\n\treturn a + b;\n}\n", "// adds both numbers\nfunction add(a, b) {\n\treturn a + b;\n}", "// adds both numbers\nfunction add(a, b) {\n\treturn b + a;\n}" => After("aligned", "// adds two numbers\nfunction add(a, b) {\n\treturn b + a;\n}\n");
    aligned_stops_at_code: "start(1);\nfunction add(a, b) {\n\treturn a + b;\n}\n", "start(2);\nfunction add(a, b) {\n\treturn a + b;\n}", "start(2);\nfunction add(a, b) {\n\treturn b + a;\n}" => Refused(EditCode::NoOccurrence);
};

/// The name, the language of its files, the rows.
/// Text that is no program, where fences, numbers, blanks and depth are content.
const MARKUP: &[Row] = rows! {
    commands_of_a_right_new_str: "Let $\\alpha \\in \\R$ and $\\nu > 0$.\n", "Let $\\\\alpha \\\\in \\\\R$ and $\\\\nu > 0$.", "Let $\\beta \\in \\R$ and $\\nu \\ge 0$." => After("unescaped", "Let $\\beta \\in \\R$ and $\\nu \\ge 0$.\n");
    a_path_in_a_right_new_str: "path = C:\\src\\app\n", "path = C:\\\\src\\\\app", "path = C:\\new\\tmp" => After("unescaped", "path = C:\\new\\tmp\n");
    text_behind_a_fence: "```sh\nnpm i\n```\n", "```bash\nnpm i\n```", "```bash\nnpm i\n```\n\n> Needs Node." => Refused(EditCode::NoOccurrence);
    another_language_of_a_fence: "```sh\nnpm i\n```\n", "```bash\nnpm i\n```", "```console\n$ npm i\n```" => Refused(EditCode::NoOccurrence);
    a_fence_that_goes: "```sh\nnpm i\n```\n", "```bash\nnpm i\n```", "Run `npm i`." => Refused(EditCode::NoOccurrence);
    codes_behind_line_numbers: "200: fine\n404: missing\n", "13: 200: fine\n14: 404: missing", "13: 200: fine\n14: 404: not found\n401: denied" => After("line_numbers", "200: fine\n404: not found\n401: denied\n");
    hard_breaks_of_kept_lines: "Roses are red,  \nviolets are blue,  \nsugar is sweet,  \n", "are red,\nviolets are blue,\nsugar is", "are red,\nviolets are white,\nsugar is" => After("trailing_blanks", "Roses are red,  \nviolets are white,\nsugar is sweet,  \n");
    keys_put_under_another: "db:\n  host: x\n  port: 1\n", "db:\n    host: x\n    port: 1\n", "prod:\n  db:\n    host: x\n    port: 1\n" => Refused(EditCode::Ambiguous);
    a_list_item_and_a_key: "steps:\n  - uses: x\n    with: 1\nother:\n    uses: x\n    with: 1\n", "uses: x\nwith: 1", "uses: x\nwith: 2" => Refused(EditCode::OccurrenceMismatch);
    an_elided_part_of_another_block: "a:\n  x: 1\nb:\n  y: 2\n", "a:\n  ...\n  y: 2\n", "a:\n  ...\n  y: 3\n" => Refused(EditCode::NoOccurrence);
    an_entity_that_no_escaping_makes: "<code>x</code>\n", "&lt;code&gt;x&lt;/code&gt;", "&lt;code&gt;x&lt;/code&gt;&nbsp;" => After("html_entities", "<code>x</code>&nbsp;\n");
    a_change_that_the_rung_forgives: "~~~js\nrun()\n~~~\n", "```js\nrun()\n```", "```ts\nrun()\n```" => Refused(EditCode::NoOccurrence);
    a_full_stop_behind_the_place: "It\u{2019}s tried twice. Then it fails.\n", "It's tried twice", "It's tried again" => After("look_alikes", "It\u{2019}s tried again. Then it fails.\n");
    comments_do_not_choose_between_equals: "a:\n  # step 1: test\n  - os: ubuntu\n    n: 1\nb:\n  # step 2: build\n  - os: ubuntu\n    n: 1\n", "  # step 1: build\n  - os: ubuntu\n    n: 1\n", "  # step 1: build\n  - os: ubuntu\n    n: 2\n" => Refused(EditCode::OccurrenceMismatch);
};

const COLLECTIONS: &[(&str, &str, &[Row])] = &[
    ("basics", "javascript", BASICS),
    ("rungs", "javascript", RUNGS),
    ("indentation", "none", INDENTATION),
    ("endings", "none", ENDINGS),
    ("unicode", "none", UNICODE),
    ("escapes", "none", ESCAPES),
    ("markup", "yaml", MARKUP),
    ("refusals", "javascript", REFUSALS),
    ("regressions", "python", REGRESSIONS),
];

#[test]
fn every_row_holds() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (collection, language, rows) in COLLECTIONS {
        for row in *rows {
            count += 1;
            let language = Language::from_name(language);
            let call = in_language(EditRequest::new(row.old, row.new), language);
            let got = apply(row.file, &call);
            let fault = match (&row.want, got) {
                (After(rung, after), Ok(got))
                    if (*after, *rung) == (got.0.as_str(), got.1.as_str()) =>
                {
                    None
                }
                (After(rung, after), Ok(got)) => {
                    Some(format!("wanted {rung} {after:?}, got {} {:?}", got.1, got.0))
                }
                (After(..), Err(refusal)) => Some(format!("refused: {refusal}")),
                (Refused(code), Err(refusal)) if *code == refusal.code => None,
                (Refused(code), Err(refusal)) => Some(format!("wanted {code}, got {refusal}")),
                (Refused(code), Ok(got)) => {
                    Some(format!("wanted {code}, applied by {}: {:?}", got.1, got.0))
                }
            };
            wrong.extend(fault.map(|fault| format!("{collection}/{}: {fault}", row.name)));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} rows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_rung_has_a_call_that_it_forgives_and_one_where_it_stops() {
    for rung in restitch::internals::matching::LADDER {
        let forgives = RUNGS.iter().any(|row| match row.want {
            After(by, _) => by == rung.as_str() && row.name == by,
            Refused(_) => false,
        });
        let stop = format!("{rung}_stops_");
        let stops = RUNGS.iter().any(|row| row.name.starts_with(&stop));
        assert!(forgives && stops, "no rows for `{rung}`");
    }
}
