import assert from "node:assert/strict";
import { test } from "node:test";
import { parseModels } from "../src/models";

const TABLE = `name          download  licence            gated  drafts with  pulled
tiny          93 MB     Apache-2.0         no     -            369 MB
large         141.1 GB  Llama 3 Community  yes    a, b         -     
broken        2.5 GB    MIT                no     -            50 MB, unfinished
`;

test("a row tells what a person chooses by", () => {
  assert.deepEqual(parseModels(TABLE)[1], {
    name: "large",
    download: "141.1 GB",
    licence: "Llama 3 Community",
    isPulled: false,
  });
});

test("only a whole model is here already", () => {
  assert.deepEqual(
    parseModels(TABLE).map(({ isPulled }) => isPulled),
    [true, false, false],
  );
});

test("no table is no model", () => {
  assert.deepEqual(parseModels(""), []);
});
