//! Finds values that are secrets according to their names, such as `password = …`, in settings, in
//! shell scripts and in code.

use super::values::{is_placeholder, is_random};

/// The kind of file that a line is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// Settings, where an unquoted value is a literal.
    Settings,
    /// Code or an unknown kind, where an unquoted value may be an expression.
    Code,
}

impl FileKind {
    /// The kind of file with this path.
    pub(super) fn of(path: &str) -> Self {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
        let extension = name.rsplit_once('.').map_or(name.as_str(), |(_, extension)| extension);
        match has_word(SETTINGS, extension) {
            true => Self::Settings,
            false => Self::Code,
        }
    }
}

/// Extensions, or whole names, of settings files.
const SETTINGS: &str = "yaml yml properties ini cfg conf cnf config env toml json json5 jsonc xml plist tf hcl sh \
     bash zsh fish ps1 bat cmd dockerfile service reg netrc pgpass editorconfig list txt md";

/// Whether a list, whose words are separated by blanks, has a word.
pub(super) fn has_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|own| own == word)
}

/// Whether a line assigns a secret to a name.
pub(super) fn assigns_secret(line: &str, file_kind: FileKind) -> bool {
    separators(line).take(12).any(|(at, length)| {
        if let Some((value, origin)) = attribute_value(line, at) {
            return is_secret(value, origin, Form::Literal);
        }
        let words = words_before(&line[..at]);
        // `pass` is often a verb, so it counts only if a value is assigned to it.
        let is_argument = matches!(line.as_bytes().get(at), Some(b'(' | b' '));
        if is_argument && words.iter().any(|word| word == "pass") {
            return false;
        }
        let Some(origin) = value_origin(&words) else { return false };
        // `NAME=value`, as in a shell.
        let is_shell = line.as_bytes().get(at) == Some(&b'=')
            && line[..at].ends_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
            && !line[at + 1..].starts_with([' ', '=']);
        // Several semicolons suggest a connection string.
        let in_string = line.matches(';').count() >= 2 || is_quoted_at(line, at);
        let unquoted_form = match file_kind == FileKind::Settings || is_shell || in_string {
            true => Form::Literal,
            false => Form::Code,
        };
        let after = &line[at + length..];
        // `name: Type = value` has its value after the second separator.
        let after_type = after.find('=').map(|equals| &after[equals + 1..]);
        let mut texts = std::iter::once(after).chain(after_type);
        texts.any(|text| starts_with_secret(text, origin, unquoted_form))
    })
}

/// Whether a line names a secret whose value is in the lines below it: `password:` alone, or with a
/// sign of a folded or literal text in YAML.
pub(super) fn names_secret_below(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    let line = line.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
    let name = line.trim_end_matches(['|', '>']).trim_end();
    let Some(name) = name.strip_suffix(':') else { return false };
    value_origin(&words_before(name)).is_some()
}

/// Where a secret of this name usually comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueOrigin {
    /// A person chose it: it may be short and consist of words.
    Person,
    /// A machine generated it, so it looks random.
    Machine,
}

/// What a value is in its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A literal.
    Literal,
    /// Possibly an expression.
    Code,
}

/// The byte offsets and lengths of what may separate a name from its value: `=`, `:`, `=>`, `>` of a
/// tag, the comma in `define('NAME', 'value')`, and others as noted below.
fn separators(line: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    line.char_indices().filter_map(|(at, c)| match c {
        '=' | ':' | '>' => Some((at, 1)),
        ',' if is_quoted_name(&line[..at]) => Some((at, 1)),
        // `{password, "value"}`
        ',' if line[..at].rsplit(['{', ' ']).next().is_some_and(|name| name == "password") => {
            Some((at, 1))
        }
        // `setPassword("value")`, `PASSWORD 'value'`, `-Password "value"`
        '(' | ' ' if line[at + 1..].starts_with(['"', '\'', '`']) => Some((at, 1)),
        // `--password value`
        ' ' if line[..at].rsplit(' ').next().is_some_and(|word| word.starts_with("--")) => {
            Some((at, 1))
        }
        _ => None,
    })
}

/// Whether a text ends with an identifier in quotes, such as `'NAME'`.
fn is_quoted_name(text: &str) -> bool {
    let Some(unclosed) = text.strip_suffix(['\'', '"']) else { return false };
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    unclosed.trim_end_matches(is_name_char).ends_with(['\'', '"'])
        && unclosed.ends_with(is_name_char)
}

/// The words of the last identifier in `text`, in lower case: `clientSecret` gives `client` and
/// `secret`.
fn words_before(text: &str) -> Vec<String> {
    let is_separator = |c: char| c.is_whitespace() || "\"'`:=>?!])".contains(c);
    let text = text.trim_end_matches(is_separator);
    // `Dim pwd As String = …`
    let text = text.strip_suffix(" As String").unwrap_or(text);
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        .last()
        .map_or(text.len(), |(at, _)| at);
    let mut words: Vec<String> = Vec::new();
    let mut previous = '_';
    for c in text[start..].chars() {
        if !c.is_ascii_alphanumeric() {
            previous = '_';
            continue;
        }
        let starts_word =
            previous == '_' || c.is_ascii_uppercase() && !previous.is_ascii_uppercase();
        match words.last_mut() {
            Some(word) if !starts_word => word.push(c.to_ascii_lowercase()),
            _ => words.push(c.to_ascii_lowercase().to_string()),
        }
        previous = c;
    }
    words
}

/// Where the value of a name with these words comes from; `None` if it is not a secret.
fn value_origin(words: &[String]) -> Option<ValueOrigin> {
    const PASSWORDS: &str =
        "password passwd passphrase pwd pass passwort pgpassword kennwort psk passcode";
    const GENERATED: &str = "secret secrets token apikey apisecret accesstoken authtoken privatekey clientsecret \
         accesskey secretkey credential credentials connectionstring bearer auth cookie \
         signature pat hmac salt";
    // `key` is a secret if one of these words precedes it, as in `api_key`.
    const KEYS: &str = "api access private secret client auth encryption signing session master storage account \
         shared service deploy license app hmac jwt publish webhook admin root crypt aes \
         consumer subscription stream write ssh rsa";
    const SUFFIXES: &str = "base value data string id b64 base64 hash";
    let mut words = words;
    // Skip the suffixes of `secret_key_base` and `client-key-data`.
    while let Some((last, leading)) = words.split_last()
        && !leading.is_empty()
        && (has_word(SUFFIXES, last) || last.bytes().all(|b| b.is_ascii_digit()))
    {
        words = leading;
    }
    let last = words.last()?.as_str();
    let second_last = words.len().checked_sub(2).map(|at| words[at].as_str());
    // Long names also count as the end of a word: `accesstoken`, `clientsecret`.
    let is_or_ends_with = |name: &str, min_length: usize| {
        last == name || name.len() >= min_length && last.ends_with(name)
    };
    if PASSWORDS.split(' ').any(|name| is_or_ends_with(name, 6)) {
        return Some(ValueOrigin::Person);
    }
    // A value in quotes under the bare name `secret` may be a word of a person.
    if words.len() == 1 && last == "secret" {
        return Some(ValueOrigin::Person);
    }
    let is_key = last == "key" && second_last.is_some_and(|word| has_word(KEYS, word));
    let is_generated = is_key || GENERATED.split(' ').any(|name| is_or_ends_with(name, 5));
    is_generated.then_some(ValueOrigin::Machine)
}

/// Whether the byte at `at` is inside a string.
fn is_quoted_at(line: &str, at: usize) -> bool {
    ['"', '\'', '`']
        .iter()
        .any(|quote| line[..at].matches(*quote).count() % 2 == 1 && line[at..].contains(*quote))
}

/// Whether the text after a name and its separator starts with a secret. `unquoted_form` is the form
/// of a value without quotes.
fn starts_with_secret(text: &str, origin: ValueOrigin, unquoted_form: Form) -> bool {
    let value = text.trim_start_matches(|c: char| c.is_whitespace() || "=>(".contains(c));
    // `b"…"`, `r'…'`
    let value = match value.strip_prefix(['b', 'r', 'u', 'B', 'R']) {
        Some(quoted) if quoted.starts_with(['"', '\'']) => quoted,
        _ => value,
    };
    // `"""…"""`
    let value = value.strip_prefix("\"\"").filter(|rest| rest.starts_with('"')).unwrap_or(value);
    let value = literal_in_call(value).unwrap_or(value);
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let value = match quote {
        Some(quote) => value[1..].split(quote).next(),
        None => value
            .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '"' | '\''))
            .next()
            // In a URL, `&` ends the value.
            .map(|value| match value.split_once('&') {
                Some((first, _)) if first.len() > 3 => first,
                _ => value,
            }),
    };
    let value = value.unwrap_or_default();
    if value.contains(char::is_whitespace) && origin == ValueOrigin::Machine {
        return false;
    }
    if quote.is_some() {
        return is_secret(value, origin, Form::Literal);
    }
    // An unquoted value counts only if it cannot be an expression.
    if unquoted_form == Form::Literal {
        return !value.contains(['(', '[', '{', '<', '&'])
            && is_secret(value, origin, Form::Literal);
    }
    value.len() >= 12
        && !value.contains(['(', '[', '{', '<', '&', '.', ':'])
        && is_secret(value, origin, Form::Code)
}

/// The text from the literal on in a call that only converts it: `String::from("…")`,
/// `new SecretString("…")`, `Some("…")`.
fn literal_in_call(value: &str) -> Option<&str> {
    let (callee, arguments) = value.split_once('(')?;
    let name = callee.rsplit([':', '.', ' ', '<', '>']).next()?;
    let converts =
        ["from", "new", "Some", "str", "bytes", "String", "of", "into", "Secret", "SecretString"];
    let is_quoted = arguments.starts_with(['"', '\'', '`']);
    (converts.contains(&name) && is_quoted && callee.len() <= 60).then_some(arguments)
}

/// Whether a value looks like a secret of that origin.
fn is_secret(value: &str, origin: ValueOrigin, form: Form) -> bool {
    if is_placeholder(value) || value.len() < 4 || is_word_of_code(value) {
        return false;
    }
    match origin {
        ValueOrigin::Person if form == Form::Literal => {
            value.len() >= 4 && !is_identifier_or_text(value)
        }
        ValueOrigin::Person => is_random(value) || is_phrase(value),
        ValueOrigin::Machine => value.len() >= 6 && is_random(value),
    }
}

const WORDS_OF_CODE: &str = "string str text true false bool boolean none optional required varchar any number object \
     bytes char self this test password secret token pass passwd hidden input prompt plain basic";

/// Whether a value is a name, a type, a boolean or a path rather than a password.
fn is_word_of_code(value: &str) -> bool {
    let lower = value.trim_matches(['"', '\'']).to_ascii_lowercase();
    has_word(WORDS_OF_CODE, &lower)
        || lower.contains("password")
        || lower.contains("passwd")
        || lower.contains("secret")
        || lower.starts_with('/') && lower.matches('/').count() > 1
}

/// Whether a value is an identifier of several words, or text such as a label or a sentence.
fn is_identifier_or_text(value: &str) -> bool {
    let has_separator = value.contains(['_', '.', ' ']);
    let is_lower_case =
        value.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'.' | b' '));
    let is_sentence = value.ends_with([':', '?', '.', '…']) && value.contains(' ');
    let is_text = value.split(' ').count() > 2 && !value.contains(|c: char| c.is_ascii_digit());
    has_separator && is_lower_case || is_sentence || is_text
}

/// Whether a value is several words joined by hyphens, as in a passphrase, and not a label.
fn is_phrase(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let word_count = lower.split('-').filter(|word| !word.is_empty()).count();
    let is_label = ["pass", "secret", "word", "field", "input", "label"]
        .iter()
        .any(|label| lower.contains(label));
    word_count >= 2 && !is_label && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// The value of an element whose name is in another attribute, as in `name="password" value="…"`;
/// `at` is the offset of the `=` after `name`.
fn attribute_value(line: &str, at: usize) -> Option<(&str, ValueOrigin)> {
    let name = line[at..].strip_prefix('=')?.strip_prefix(['"', '\''])?;
    if !line[..at].ends_with("name") && !line[..at].ends_with("key") {
        return None;
    }
    let origin = value_origin(&words_before(name.split(['"', '\'']).next()?))?;
    let (_, after) = line[at..].split_once("value=")?;
    let value = after.trim_start_matches(['"', '\'']).split(['"', '\'']).next()?;
    Some((value, origin))
}
