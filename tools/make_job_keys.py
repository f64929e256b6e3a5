#!/usr/bin/env python3
"""Writes C++ from data/workload/job_keys.yaml, which says what it means.

    tools/make_job_keys.py data/workload/job_keys.yaml OUT

OUT/job_key_words.h and OUT/plan_key_words.h have the spellings of enumerations, OUT/job_key_table.h the keys, OUT/megatron_options.inc and OUT/nemo_overrides.inc rows of the
tables of their readers and writers. Files that do not change are not written, so that nothing is compiled again.

The build needs no YAML library of Python: `parse` reads the part of YAML that the file uses, and refuses the rest.
"""

import json
import pathlib
import re
import sys

OWNERS = {"model": "TransformerShape", "training": "Training", "plan": "Plan", "framework": "Framework"}
PARTS = {"precision": "Precision", "routing": "TokenRouting"}
TOOLS = ("torchtitan", "deepspeed", "fsdp", "published")
FIELDS = {"key", "field", "type", "least", "most", "default", "meaning", "words", "of", "spellings", "reader", "earlier", "search", *TOOLS}
NEEDS = {"tp", "cp", "pp", "ep", "chunks", "replicas", "whole_blocks", "kept_blocks"}
PAIR = re.compile(r'((?:"[^"]*"|[^\s:"#{\[]|:(?! |$))+):(?: +(.*))?$')


def parse(text):
    """Block mappings and lists, flow collections in one line, scalars as text."""
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines() if line.strip() and line.lstrip()[0] != "#"]
    value, rest = block(lines, 0)
    if rest:
        raise ValueError(f"'{rest[0][1]}' is indented like nothing above it")
    return value


def block(lines, indent):
    """The mapping or list that begins with the first line, and the lines behind it."""
    if lines and lines[0][1].startswith("- "):
        items = []
        while lines and lines[0][0] == indent and lines[0][1].startswith("- "):
            if lines[0][1][2] == "{":
                items.append(flow(lines[0][1][2:]))
                lines = lines[1:]
            else:
                item, lines = block([(indent + 2, lines[0][1][2:]), *lines[1:]], indent + 2)
                items.append(item)
        return items, lines
    mapping = {}
    while lines and lines[0][0] == indent:
        found = PAIR.match(lines[0][1])
        if not found or found.group(1) in mapping:
            raise ValueError(f"'{lines[0][1]}' is no pair, or says a second time what its key is")
        value, lines = flow(found.group(2) or ""), lines[1:]
        if not found.group(2):
            value, lines = block(lines, lines[0][0])
        mapping[found.group(1)] = value
    return mapping, lines


def flow(text):
    """A value in one line."""
    if text[:1] == "{":
        return dict((name, flow(value or "")) for name, value in (PAIR.match(part).groups() for part in split(text[1:-1])))
    if text[:1] == "[":
        return [flow(part) for part in split(text[1:-1])]
    return json.loads(text) if text[:1] == '"' else text


def split(text):
    """The parts between commas outside brackets and quotes."""
    parts = re.findall(r'(?:"[^"]*"|\{[^}]*\}|\[[^\]]*\]|[^,])+', text)
    return [part.strip() for part in parts]


def quoted(text):
    return json.dumps(str(text), ensure_ascii=False)


class Key:
    def __init__(self, entry):
        unknown = set(entry) - FIELDS
        if unknown or not {"key", "type", "meaning"} <= set(entry):
            raise ValueError(f"{entry.get('key')}: unknown {sorted(unknown)}, or key, type or meaning is missing")
        self.entry = entry
        self.path = entry["key"]
        self.section, self.name = self.path.split(".")
        self.field = entry.get("field", self.name)
        self.type = entry["type"]

    def owner_member(self):
        """Plan::tp, Precision::moment_bytes."""
        part, _, name = self.field.rpartition(".")
        return f"{PARTS[part] if part else OWNERS[self.section]}::{name}"

    def words(self, prefix=""):
        return f"k{prefix}{self.entry['of']}Words"

    def read(self):
        if "reader" in self.entry:
            return f"{self.entry['reader']}(fields, *owners.{self.section})"
        member = f"owners.{self.section}->{self.field}"
        if self.type == "word":
            return f"ReadKey(fields, {quoted(self.name)}, {self.words()}, {member})"
        limits = [self.entry[name] for name in ("least", "most") if name in self.entry]
        return f"ReadKey(fields, {quoted(self.name)}, {member}{', {' + ', '.join(limits) + '}' if limits else ''})"

    def usual(self):
        if "default" in self.entry:
            return f"std::string({quoted(self.entry['default'])})"
        member = f"{OWNERS[self.section]}{{}}.{self.field}"
        return f"std::string(WordOf({self.words()}, {member}))" if self.type == "word" else f'fmt::format("{{}}", {member})'

    def value(self):
        is_ranged = self.section == "plan" and "least" in self.entry and "default" not in self.entry
        return f"     .value = [](const Plan& plan) {{ return double(plan.{self.field}); }},\n" if is_ranged else ""

    def search(self):
        role = self.entry.get("search")
        if role is None:
            return ""
        if role.get("needs", "tp") not in NEEDS:
            raise ValueError(f"{self.path}: a search knows no need of {role['needs']}")
        fields = [self.field, *([role["also"]] if "also" in role else [])]
        copies = " ".join(f"to.{self.section}.{field} = from.{self.section}.{field};" for field in fields)
        return (f"     .search = {{.place = {role['place']}, .needs = {quoted(role.get('needs', ''))}, .changes_layers = {role.get('layers', 'true')},"
                f" .copy = [](const KeyValues& from, Job& to) {{ {copies} }}}},\n")

    def row(self, spellings, names):
        tools = "".join(f"     .{tool} = {quoted(name)},\n" for tool, name in names.items() if name)
        limits = f" .least = {self.entry['least']}," if "least" in self.entry else ""
        limits += f" .most = {self.entry['most']}," if "most" in self.entry else ""
        limits += f" .words = {spellings}," if spellings else ""
        return (f"    {{.section = {quoted(self.section)}, .name = {quoted(self.name)}, .path = {quoted(self.path)}, .type = {quoted(self.type)},{limits}\n"
                f"     .meaning = {quoted(self.entry['meaning'])},\n{tools}{self.search()}"
                f"     .is_earlier = {self.entry.get('earlier', 'false')},\n     .usual = [] {{ return {self.usual()}; }},\n{self.value()}"
                f"     .read = [](YamlFields& fields, const KeyOwners& owners) {{ {self.read()}; }}}},\n")


def words_of(keys):
    """Spellings of each enumeration: in job files and by each tool."""
    text = ""
    for key in keys:
        for prefix in ("", "Megatron", "Published", "Torchtitan"):
            rows = []
            for word, entry in key.entry.get("words", {}).items():
                entry = entry if isinstance(entry, dict) else {"is": entry}
                named = [word] if not prefix else entry.get(prefix.lower(), [])
                rows += [f"{{{quoted(name)}, {key.entry['of']}::{entry['is']}}}" for name in ([named] if isinstance(named, str) else named)]
            if rows:
                text += f"inline constexpr auto {key.words(prefix)} = std::to_array<Spelling<{key.entry['of']}>>({{{', '.join(rows)}}});\n"
    return text


def option_row(name, entry, keys):
    """A row of the options of Megatron-LM."""
    key = keys.get(entry) if isinstance(entry, str) else next((keys[path] for path in entry if path in keys), None)
    if isinstance(entry, str):
        action = {"flag": f"Set<&{key.owner_member()}>", "word": f"Choose<&{key.owner_member()}, {key.words('Megatron')}>" if key.type == "word" else ""}
        return f"    {{{quoted(name)}, {str(key.type != 'flag').lower()}, {action.get(key.type, f'Read<&{key.owner_member()}>')}}},\n"
    if key:
        value = entry[key.path]
        value = f"{key.entry['of']}::{enumerator(key, value, keys)}" if key.type == "word" else value
        return f"    {{{quoted(name)}, false, Set<&{key.owner_member()}, {value}>}},\n"
    take = f"Set<&{entry['set']}>" if "set" in entry else f"Read<&{entry['read']}>" if "read" in entry else entry["take"]
    has_value = "false" if "set" in entry else entry.get("value", "true")
    return f"    {{{quoted(name)}, {has_value}, {take}, {entry.get('list', 'false')}}},\n"


def enumerator(key, word, keys):
    owner = next(other for other in keys.values() if other.entry.get("of") == key.entry["of"] and "words" in other.entry)
    entry = owner.entry["words"][word]
    return entry["is"] if isinstance(entry, dict) else entry


def options_of(path, options):
    """Names of the options of Megatron-LM that set a key."""
    return [name for name, entry in options.items() if entry == path or (isinstance(entry, dict) and (path in entry or entry.get("for") == path))]


def table_of(keys, data):
    """The keys as rows of kJobKeys."""
    arrays, rows = "", ""
    spellings = {key.entry["of"]: list(key.entry["words"]) for key in keys if "words" in key.entry}
    for key in keys:
        listed = key.entry.get("spellings") or spellings.get(key.entry.get("of"), [])
        array = f"k{key.section.title()}{key.name.title().replace('_', '')}" if listed else ""
        if listed:
            arrays += f"constexpr auto {array} = std::to_array<std::string_view>({{{', '.join(map(quoted, listed))}}});\n"
        options = options_of(key.path, data["megatron"])
        nemo = [entry["key"] for entry in data["nemo"] if entry["option"] in options]
        names = {"megatron": ", ".join(f"--{name}" for name in options), "nemo": ", ".join(nemo)}
        rows += key.row(array, {**names, **{tool: key.entry.get(tool, "") for tool in TOOLS}})
    return f"{arrays}\nconstexpr auto kJobKeys = std::to_array<JobKey>({{\n{rows}}});\n"


def header(includes, body):
    lines = "".join(f'#include "orrery/{name}.h"\n' for name in includes)
    return (f"// Written by tools/make_job_keys.py from data/workload/job_keys.yaml.\n#pragma once\n\n#include <array>\n#include <string>\n"
            f"#include <string_view>\n\n#include <fmt/core.h>\n\n{lines}\nnamespace orrery::workload {{\n\n{body}\n}}  // namespace orrery::workload\n")


def outputs(data):
    keys = {entry["key"]: Key(entry) for entry in data["keys"]}
    if len(keys) != len(data["keys"]):
        raise ValueError("a key is there twice")
    ignored = "".join(f"constexpr auto kIgnored{kind.title()} = std::to_array<std::string_view>({{{', '.join(map(quoted, data[f'ignored_{kind}']))}}});\n"
                      for kind in ("switches", "values"))
    of_plan = [key for key in keys.values() if key.section == "plan"]
    sizes = ", ".join(f"&{key.owner_member()}" for key in keys.values() if key.section == "model" and key.type == "whole")
    options = "".join(option_row(name, entry, keys) for name, entry in data["megatron"].items())
    nemo = "".join("    {%s, %s, %s, %s},\n" % tuple(quoted(entry.get(name, "")) for name in ("option", "key", "present", "absent"))
                   for entry in data["nemo"])
    return {
        "plan_key_words.h": header(["base/document/yaml_fields", "workload/plan/plan"], words_of(of_plan)),
        "job_key_words.h": header(["base/document/yaml_fields", "workload/job/framework", "workload/job/job", "workload/model/transformer_shape",
                                   "workload/plan_key_words"],
                                  words_of(key for key in keys.values() if key not in of_plan) + f"\ninline constexpr auto kModelSizes = std::to_array({{{sizes}}});\n"),
        "job_key_table.h": header(["workload/job_key_words", "workload/keys/job_keys", "workload/keys/key_readers", "workload/keys/key_values", "workload/keys/words"],
                                  "namespace {\n\n" + table_of(keys.values(), data) + "\n}  // namespace\n"),
        "megatron_options.inc": f"constexpr auto kOptions = std::to_array<MegatronOption>({{\n{options}}});\n\n{ignored}",
        "nemo_overrides.inc": f"constexpr auto kOverrides = std::to_array<Override>({{\n{nemo}}});\n",
    }


def main():
    source, out = map(pathlib.Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    for name, text in outputs(parse(source.read_text(encoding="utf-8"))).items():
        path = out / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
