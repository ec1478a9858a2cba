import { readFile } from 'node:fs/promises';
import { type FileServer, sendFile, startFileServer } from '../file-server.ts';
import { smallImage } from './sources.ts';

// A server of files that are imported.

/** Its whole file, also of any other name. */
export const importedImage = 'image.png';
/** The same file, of which the second half comes late. */
export const slowImage = 'slow.png';
/** The same file, whose first transfer breaks off in the middle. */
export const cutImage = 'cut.png';
/** There is no such file. */
export const missingImage = 'missing.png';

/** Long enough to cancel an import in the middle. */
const slowMs = 1_500;

export async function openFiles(): Promise<FileServer> {
  const bytes = await readFile(await smallImage());
  const file = { bytes, etag: '"v1"' };
  const cut = new Set<string>();
  return startFileServer(
    () => file,
    (request, response) => {
      const path = request.url ?? '';
      const { pathname } = new URL(path, 'http://files');
      if (pathname.endsWith(missingImage)) {
        response.writeHead(404);
        response.end();
        return true;
      }
      if (pathname.endsWith(slowImage)) {
        response.writeHead(200, { 'content-type': 'image/png', 'content-length': bytes.length, etag: file.etag });
        response.write(bytes.subarray(0, bytes.length / 2));
        setTimeout(() => response.end(bytes.subarray(bytes.length / 2)), slowMs);
        return true;
      }
      if (!pathname.endsWith(cutImage) || cut.has(path)) return false;
      cut.add(path);
      sendFile(request, response, { ...file, cutAt: Math.floor(bytes.length / 2) });
      return true;
    },
  );
}
