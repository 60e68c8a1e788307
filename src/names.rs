//! Values as callers know them, on the wire, on the command line, in reports: enums whose values have
//! names, and fields that are left out.

/// Defines an enum whose values have names, which never change.
macro_rules! named {
    ($(#[$about:meta])* $vis:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $text:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $name {
            $($(#[$doc])* $variant,)*
        }

        #[allow(dead_code, reason = "not every such enum is listed and read")]
        impl $name {
            /// Every value, in the order of the documentation.
            $vis const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name.
            $vis fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The value with this name.
            $vis fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == name)
            }

            /// The value with this name, or that there is no such `what`, and the names that there are.
            $vis fn named(what: &str, name: &str) -> Result<Self, String> {
                Self::parse(name).ok_or_else(|| {
                    let known: Vec<_> = Self::ALL.iter().map(|value| value.as_str()).collect();
                    format!("there is no {what} `{name}`; use one of: {}", known.join(", "))
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let names: Vec<_> = Self::ALL.iter().map(|value| value.as_str()).collect();
                schemars::json_schema!({ "type": "string", "enum": names })
            }
        }
    };
}

/// Whether a field has its default value, and is left out of what is written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
