from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.config_sources import load, loads
from kvforensics.config_sources.systemd_words import expand_specifiers, expand_variables, split_words
from kvforensics.config_sources.unit_file import commands
from kvforensics.errors import InputError

UNIT = r"""[Unit]
Description=SGLang

[Service]
Environment=A=1 "B=two words" 'C=single q'
# a comment
ExecStart=/opt/venv/bin/python3 -m sglang.launch_server \
    --model-path /models/Kimi-K2.6 --tp-size 8 \
# a comment within a continuation
; and another kind
    --context-length 32768 \
    --mem-fraction-static 0.85 --json-model-override-args '{"rope_scaling": {"type": "yarn"}}'
Restart=always
"""


def only(text: str, path: str = "x.service"):
    (found,) = loads(text, path)
    return found


class TestUnitFile:
    def test_continuation_comments_quotes(self):
        found = only(UNIT)
        assert found.kind == "unit_file"
        assert dict(found.values) == {
            "model_path": "/models/Kimi-K2.6",
            "tp_size": 8,
            "context_length": 32768,
            "mem_fraction_static": 0.85,
            "json_model_override_args": '{"rope_scaling": {"type": "yarn"}}',
        }
        assert found.place.line == 7
        assert found.name == "x.service"
        assert dict(found.environment) == {"A": "1", "B": "two words", "C": "single q"}

    def test_an_empty_value_resets_and_a_later_one_adds(self):
        drop_in = "\n# /etc/systemd/system/x.service.d/o.conf\n[Service]\nExecStart=\n"
        drop_in += "ExecStart=python3 -m sglang.launch_server --tp 4\n"
        found = only(f"# /etc/systemd/system/x.service\n{UNIT}{drop_in}")
        assert dict(found.values) == {"tp_size": 4}

    def test_an_environment_reset(self):
        text = "[Service]\nEnvironment=A=1\nEnvironment=\nEnvironment=B=2\nExecStart=sglang serve --tp 8"
        assert dict(only(text).environment) == {"B": "2"}

    def test_several_units_of_systemctl_cat(self):
        text = "".join(
            f"# /etc/systemd/system/s{n}.service\n[Service]\nExecStart=sglang serve --tp {n}\n\n"
            for n in (1, 2)
        )
        assert [(one.name, dict(one.values)) for one in loads(text, "cat.txt")] == [
            ("s1.service", {"tp_size": 1}),
            ("s2.service", {"tp_size": 2}),
        ]

    @pytest.mark.parametrize("prefix", ["-", "+", "!!", "-+", ":", "|"])
    def test_prefixes(self, prefix):
        assert dict(only(f"[Service]\nExecStart={prefix}sglang serve --tp 8").values) == {"tp_size": 8}

    def test_an_argv0_of_its_own(self):
        found = only("[Service]\nExecStart=@/usr/bin/sglang my-name serve --tp 8")
        assert found.argv == ("/usr/bin/sglang", "serve", "--tp", "8")

    def test_the_old_separator(self):
        found = only("[Service]\nExecStart=sglang serve --tp 8 ; /bin/echo --tp 4")
        assert dict(found.values) == {"tp_size": 8}

    def test_helpers_are_passed_over(self):
        text = (
            "[Service]\nExecStartPre=/bin/echo --tp 1\nExecStart=/bin/sleep 1\nExecStart=sglang serve --tp 8"
        )
        assert dict(only(text).values) == {"tp_size": 8}

    def test_other_sections_do_not_count(self):
        text = "[Service]\nExecStart=sglang serve --tp 8\n[X-Other]\nExecStart=\n"
        assert dict(only(text).values) == {"tp_size": 8}

    def test_colours_and_hyperlinks(self):
        text = "\x1b[0;1;34m# \x1b]8;;file://h/etc/systemd/system/x.service\x07/etc/systemd/system/x.service\x1b]8;;\x07\x1b[0m\n"
        found = only(f"{text}[Service]\r\nExecStart=sglang serve \\\r\n  --tp 8\r\n", "cat.txt")
        assert (found.name, dict(found.values)) == ("x.service", {"tp_size": 8})

    def test_a_transient_unit(self):
        text = '# /run/systemd/transient/o.service\n[Service]\nExecStart=\nExecStart="/usr/bin/sglang" "serve" "--context-length" "65536"'
        assert dict(only(text).values) == {"context_length": 65536}

    def test_secrets_stay_inside(self):
        text = "[Service]\nEnvironment=HF_TOKEN=hf_AbCdEf0123456789\nExecStart=sglang serve --api-key sk-topsecret123 --tp 8"
        found = only(text)
        assert found.values["api_key"] == "<redacted>"
        assert "topsecret" not in repr(found)
        assert "hf_AbCdEf" not in repr(found)


class TestVariables:
    UNIT = "[Service]\nEnvironment=CTX=4096 TP=8\nEnvironmentFile=-/etc/sglang/k26.env\nExecStart=sglang serve --context-length ${CTX_LEN} --tp ${TP}\n"

    def test_without_the_file_the_setting_is_unknown(self):
        found = only(self.UNIT)
        assert dict(found.values) == {"tp_size": 8}
        assert found.requested.unresolved == ("context_length",)
        assert not found.requested.complete

    def test_the_file_beside_the_unit(self, tmp_path):
        (tmp_path / "x.service").write_text(self.UNIT)
        (tmp_path / "k26.env").write_text("# c\nCTX_LEN='65536'\nexport OTHER=1\nBAD LINE\n")
        found = load(str(tmp_path / "x.service"))
        assert dict(found.values) == {"tp_size": 8, "context_length": 65536}
        assert found.environment["CTX_LEN"] == "65536"

    def test_an_unset_one_is_nothing_where_all_is_known(self):
        found = only("[Service]\nExecStart=sglang serve $EXTRA --tp 8 --served-model-name a${B}c")
        assert dict(found.values) == {"tp_size": 8, "served_model_name": "ac"}

    def test_a_variable_alone_becomes_words(self):
        found = only("[Service]\nEnvironment='ARGS=--tp 8 --page-size 64'\nExecStart=sglang serve $ARGS")
        assert dict(found.values) == {"tp_size": 8, "page_size": 64}

    def test_a_colon_keeps_them(self):
        found = only("[Service]\nExecStart=:sglang serve --served-model-name a$$b --tp 8")
        assert found.argv[3] == "a$$b"

    def test_dollars(self):
        assert expand_variables(["$$A", "${A}", "$A", "a$A"], {"A": "x y"}, whole=True) == [
            "$A",
            "x y",
            "x",
            "y",
            "a$A",
        ]


class TestDropIns:
    def test_beside_a_plain_file(self, tmp_path):
        (tmp_path / "x.service").write_text("[Service]\nExecStart=sglang serve --tp 1\n")
        folder = tmp_path / "x.service.d"
        folder.mkdir()
        (folder / "20-b.conf").write_text("[Service]\nExecStart=\nExecStart=sglang serve --tp 2\n")
        (folder / "10-a.conf").write_text("[Service]\nExecStart=\nExecStart=sglang serve --tp 4\n")
        (folder / "note.txt").write_text("[Service]\nExecStart=\n")
        assert dict(load(str(tmp_path / "x.service")).values) == {"tp_size": 2}


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("a  b\tc", ["a", "b", "c"]),
            ('"a b" \'c d\'', ["a b", "c d"]),
            (r"\x41 é \U0001F600 \101", ["A", "é", "😀", "A"]),
            (r"a\sb \t", ["a b", "\t"]),
            (r"e\ f", ["e\\ f"]),
            (r"\"a\"", ['"a"']),
            ('""', [""]),
            ("'a \"b\" c'", ['a "b" c']),
            ('"open', ["open"]),
            ("\\", ["\\"]),
            (r"\x0 \x00", [r"\x0", r"\x00"]),
            ("", []),
        ],
    )  # fmt: skip
    def test_split(self, text, words):
        assert split_words(text) == words

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("%n %N %p %i %%", "sglang@k26-a.service sglang@k26-a sglang k26-a %"),
            ("%I", "k26/a"),
            ("%H %q %", "%H %q %"),
        ],
    )
    def test_specifiers(self, text, expected):
        assert expand_specifiers(text, "sglang@k26-a.service") == expected

    def test_without_a_unit_they_stay(self):
        assert expand_specifiers("%n %%", None) == "%n %"

    @given(st.text(max_size=60))
    def test_any_text(self, text):
        split_words(text)
        loads(f"[Service]\nExecStart={text}\n", "x.service")
        commands(text, "x.service")

    @given(
        st.lists(
            st.text(
                st.characters(codec="utf-8", exclude_characters="\x00\\\"'\n\r\t "), min_size=1, max_size=8
            )
        )
    )
    def test_plain_words_come_back(self, words):
        assert split_words(" ".join(words)) == words


class TestTrouble:
    def test_no_such_file(self, tmp_path):
        with pytest.raises(InputError, match="no such file"):
            load(str(tmp_path / "absent"))

    def test_a_directory(self, tmp_path):
        with pytest.raises(InputError, match="directory"):
            load(str(tmp_path))

    def test_too_large(self, tmp_path):
        (tmp_path / "big").write_bytes(b"x" * (4 * 2**20 + 1))
        with pytest.raises(InputError, match="larger"):
            load(str(tmp_path / "big"))

    @pytest.mark.parametrize(
        "content", [b"", b"\x00\xff\xfe", b"[Service]\nExecStart=/bin/true\n", b"hello: world", b"{}"]
    )
    def test_no_server_in_it(self, tmp_path, content):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(InputError, match="no SGLang"):
            load(str(tmp_path / "x"))
