import { jxlOrientationOf } from '#platform/images/jxl-orientation.ts';

// The image of the corpus as encoders wrote it that do not come with the packages.

/** By cjxl 0.7.0, lossless, in a container; its codestream has an orientation. */
const turnedJxl =
  'AAAADEpYTCANCocKAAAAFGZ0eXBqeGwgAAAAAGp4bCAAAABAanhsY/8K3SwQUFwSCAIBAKgASxiLV4fBBOAFxe5ujHuBIAAAxr/wkRMnJD8nBc' +
  'toGTCcKIK7YqnXypQB';

/** By avifenc 0.11 with `--premultiply`: half transparent, its colors multiplied by that. */
const premultipliedAvif =
  'AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUEAAAGbbWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAGxpYmF2aW' +
  'YAAAAADnBpdG0AAAAAAAEAAAAsaWxvYwAAAABEAAACAAEAAAABAAAB2wAAAFYAAgAAAAEAAAHDAAAAGAAAAEJpaW5mAAAAAAACAAAAGmluZmUC' +
  'AAAAAAEAAGF2MDFDb2xvcgAAAAAaaW5mZQIAAAAAAgAAYXYwMUFscGhhAAAAAChpcmVmAAAAAAAAAA5wcmVtAAEAAQACAAAADmF1eGwAAgABAA' +
  'EAAADDaXBycAAAAJ1pcGNvAAAAFGlzcGUAAAAAAAAAoAAAAHgAAAAQcGl4aQAAAAADCAgIAAAADGF2MUOBIAAAAAAAE2NvbHJuY2x4AAEADQAG' +
  'gAAAAA5waXhpAAAAAAEIAAAADGF2MUOBABwAAAAAOGF1eEMAAAAAdXJuOm1wZWc6bXBlZ0I6Y2ljcDpzeXN0ZW1zOmF1eGlsaWFyeTphbHBoYQ' +
  'AAAAAeaXBtYQAAAAAAAAACAAEEAQKDBAACBAEFhgcAAAB2bWRhdBIACgYYHaf7sKgyDBAgAABAualnHnJLQBIACgk4Haf7sICGg0gyR0QIAAAF' +
  'ALRKIDK6eSRh6WSKE347y2dinT3VkGrlrWzPTuYBJ0XqWG3lxtqbDVPH4TROLUlQxsEEAHZD7fIiCH7Jbu3TbYmQ';

/** A JPEG XL that is turned by its codestream, as EXIF counts orientations. */
export function jxlTurned(orientation: number): Buffer {
  const bytes = Buffer.from(turnedJxl, 'base64');
  const { atBit } = jxlOrientationOf(bytes) ?? { atBit: 0 };
  for (let bit = 0; bit < 3; bit += 1) {
    const [at, mask] = [(atBit + bit) >> 3, 1 << ((atBit + bit) & 7)];
    const isSet = (((orientation - 1) >> bit) & 1) === 1;
    bytes[at] = isSet ? (bytes[at] ?? 0) | mask : (bytes[at] ?? 0) & ~mask;
  }
  return bytes;
}

export function avifPremultiplied(): Buffer {
  return Buffer.from(premultipliedAvif, 'base64');
}
