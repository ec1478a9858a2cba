/** The base64 of a PNG of `bytes` bytes, of which only the signature and the size are there. Sizes in pixels. */
export function pngHeader(width: number, height: number, bytes = 33): string {
  const header = Buffer.alloc(bytes);
  header.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return header.toString('base64');
}
