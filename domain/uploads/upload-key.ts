const nameBytesMax = 200;

/**
 * The key of an upload's object: `<prefix><upload id>/<name>`. The id makes it one that no object has.
 *
 * The last segment of the caller's name is kept: its letters, digits, `.`, `_`, `~` and `-` stay, anything else
 * becomes `_`. It never begins with a dot and has at most 200 bytes, its extension among them.
 */
export function uploadKey(prefix: string, id: string, name: string): string {
  return `${prefix}${id}/${safeName(name)}`;
}

function safeName(name: string): string {
  const last = name.normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const plain = last.replaceAll(/[^\p{L}\p{N}._~-]/gu, '_').replace(/^\.+/, '');
  if (plain === '') return 'file';
  const extension = /\.[A-Za-z0-9]{1,10}$/.exec(plain)?.[0] ?? '';
  return cut(plain.slice(0, plain.length - extension.length), nameBytesMax - extension.length) + extension;
}

/** The first whole characters of `text` that have at most `bytesMax` bytes of UTF-8. */
function cut(text: string, bytesMax: number): string {
  let bytes = 0;
  let kept = '';
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > bytesMax) break;
    kept += character;
  }
  return kept;
}
