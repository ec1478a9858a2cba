import { clearKeyAddress } from './endpoints.ts';

// What Shaka Packager's DASH manifest (ISO/IEC 23009-1) lacks.

const commonProtection = /^( *)<ContentProtection [^>]*"urn:mpeg:dash:mp4protection:2011"[^>]*\/>$/gm;
const namespaces = '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"';

/**
 * Adds W3C Clear Key, with the address of its licence, to every protected adaptation set (DASH-IF guidelines), so that
 * players find the key by themselves.
 *
 * @param keyEndpoint `{BASE_URL}/api/key/{hash}`
 */
export function withClearKey(manifest: string, keyEndpoint: string): string {
  const address = clearKeyAddress(keyEndpoint).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return manifest
    .replace(namespaces, `${namespaces} xmlns:dashif="https://dashif.org/CPS"`)
    .replaceAll(commonProtection, (common, indent: string) =>
      [
        common,
        `${indent}<ContentProtection value="ClearKey1.0" schemeIdUri="urn:uuid:e2719d58-a985-b3c9-781a-b030af78d30e">`,
        `${indent}  <dashif:Laurl>${address}</dashif:Laurl>`,
        `${indent}</ContentProtection>`,
      ].join('\n'),
    );
}
