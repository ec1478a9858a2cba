/** Whether a key ends as that of an image does, of the kinds that are decoded. */
export function isNamedAsImage(key: string): boolean {
  return /\.(?:jpe?g|png|webp|avif|gif|hei[cf]|tiff?|bmp|jp2|jxl)$/i.test(key);
}
