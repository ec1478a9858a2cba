// <Player host="https://media.example.com" hash="movie-1" />, with the token route of ../next.
import { useEffect, useRef } from 'react';
import '@reelwright/player';

export function Player({ host, hash, onProblem }) {
  const element = useRef(null);
  useEffect(() => {
    const player = element.current;
    const report = ({ detail }) => onProblem?.(detail);
    // Asked when the stream begins, and again when a token expires in mid-play.
    player.getToken = async (request) =>
      (await fetch(`/api/playback-token?hash=${encodeURIComponent(request.hash)}`)).text();
    player.addEventListener('error', report);
    return () => player.removeEventListener('error', report);
  }, [onProblem]);
  return <reelwright-player ref={element} src={host} hash={hash} />;
}
