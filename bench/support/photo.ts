import sharp from 'sharp';

/** A JPEG with smooth areas and some grain, as photographs have. */
export async function photo(columns: number, rows: number): Promise<Buffer> {
  const pixels = Buffer.alloc(columns * rows * 3);
  let grain = 1;
  for (let at = 0; at < pixels.length; at += 3) {
    const [x, y] = [(at / 3) % columns, Math.floor(at / 3 / columns)];
    grain = (grain * 1_103_515_245 + 12_345) % 2_147_483_648;
    const noise = (grain >> 16) % 24;
    pixels[at] = 90 + 80 * Math.sin(x / 170) + noise;
    pixels[at + 1] = 110 + 80 * Math.sin(y / 130) + noise;
    pixels[at + 2] = 120 + 80 * Math.sin((x + y) / 210) + noise;
  }
  return sharp(pixels, { raw: { width: columns, height: rows, channels: 3 } })
    .jpeg({ quality: 85 })
    .toBuffer();
}
