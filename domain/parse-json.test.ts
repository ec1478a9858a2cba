import { expect, it } from 'vitest';
import { parseJson } from './parse-json.ts';

it('JSON is read as JSON.parse reads it', () => {
  const json = '{"a":[1,"\\u0074oString",{"toStrin":null}],"b":"toString"}';
  expect(parseJson(json)).toEqual(JSON.parse(json));
});

it.each([
  ['no JSON', '{"a":', 'JSON'],
  ['a field toString', '{"a":[{"toString":1}]}', 'no field may be called toString, as at "/a/0/toString"'],
  ['a field toString in escapes', '{"\\u0074oString":1}', 'no field may be called toString, as at "/toString"'],
])('%s is a SyntaxError', (_what, json, message) => {
  expect(() => parseJson(json)).toThrow(SyntaxError);
  expect(() => parseJson(json)).toThrow(message);
});
