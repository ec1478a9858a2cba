declare module 'mpd-parser' {
  interface DashSegment {
    readonly resolvedUri: string;
    readonly duration: number;
    readonly presentationTime: number;
    readonly map: { readonly resolvedUri: string };
  }

  interface DashPlaylist {
    readonly attributes: { readonly NAME: string; readonly CODECS: string; readonly BANDWIDTH: number };
    readonly segments: readonly DashSegment[];
    readonly contentProtection?: Readonly<Record<string, { readonly attributes: Readonly<Record<string, string>> }>>;
  }

  type DashGroup = Readonly<Record<string, Readonly<Record<string, { readonly playlists: readonly DashPlaylist[] }>>>>;

  /** The part of the package that tests use; it has no types of its own. */
  export function parse(
    text: string,
    options: {
      readonly manifestUri: string;
      readonly eventHandler: (event: { type: string; message: string }) => void;
    },
  ): {
    readonly duration: number;
    readonly endList: boolean;
    readonly playlists: readonly DashPlaylist[];
    readonly mediaGroups: Readonly<Record<'AUDIO' | 'SUBTITLES', DashGroup>>;
  };
}
