package realkafka;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** Follows the metadata log of one node on disk, and writes each record as a JSON line as soon as it is there. */
final class MetadataTail extends Thread {
    private static final int HEADER = 12;
    private static final int EPOCH = 12;
    private static final int ATTRIBUTES = 21;
    private static final int BASE_TIMESTAMP = 27;
    private static final int COUNT = 57;
    private static final int CONTROL = 0x20;
    private final File directory;
    private final int node;
    private final Lines lines;
    private final MetadataRecordSerde serde = new MetadataRecordSerde();
    private File segment;
    private long position;

    MetadataTail(String directory, int node, Lines lines) {
        super("metadata-" + node);
        this.directory = new File(directory);
        this.node = node;
        this.lines = lines;
        setDaemon(true);
    }

    @Override
    public void run() {
        while (true) {
            try {
                follow();
                Thread.sleep(20);
            } catch (IOException | RuntimeException error) {
                System.err.println("metadata log of " + node + ": " + error);
                try {
                    Thread.sleep(200);
                } catch (InterruptedException interrupted) {
                    return;
                }
            } catch (InterruptedException error) {
                return;
            }
        }
    }

    private void follow() throws IOException {
        File[] files = directory.listFiles((where, name) -> name.endsWith(".log"));
        if (files == null || files.length == 0) {
            return;
        }
        Arrays.sort(files);
        if (segment == null) {
            segment = files[0];
        }
        read();
        int at = Arrays.binarySearch(files, segment);
        if (at >= 0 && at + 1 < files.length) {
            read();
            segment = files[at + 1];
            position = 0;
        }
    }

    private void read() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(segment, "r")) {
            long length = file.length();
            if (length < position) {
                position = 0; // truncated: everything is written again, with its epochs
            }
            while (length - position >= HEADER) {
                file.seek(position + 8);
                int size = file.readInt() + HEADER;
                if (size <= HEADER || length - position < size) {
                    return;
                }
                byte[] bytes = new byte[size];
                file.seek(position);
                file.readFully(bytes);
                write(ByteBuffer.wrap(bytes));
                position += size;
            }
        }
    }

    /** Writes the records of a batch of format 2, which metadata logs hold uncompressed. */
    private void write(ByteBuffer batch) {
        if ((batch.getShort(ATTRIBUTES) & CONTROL) != 0) {
            return;
        }
        long offset = batch.getLong(0);
        long timestampMs = batch.getLong(BASE_TIMESTAMP);
        batch.position(COUNT + 4);
        ByteBufferAccessor reader = new ByteBufferAccessor(batch); // moves the position of the batch
        for (int left = batch.getInt(COUNT); left > 0; left--) {
            int next = reader.readVarint() + batch.position();
            batch.get(); // attributes
            long recordMs = timestampMs + reader.readVarlong();
            long recordOffset = offset + reader.readVarint();
            reader.readVarint(); // no key
            int size = reader.readVarint();
            ApiMessageAndVersion found = serde.read(new ByteBufferAccessor(batch.slice(batch.position(), size)), size);
            lines.write("event", "metadata", "node", node, "offset", recordOffset, "epoch", batch.getInt(EPOCH),
                    "timestamp_ms", recordMs, "type", MetadataRecordType.fromId(found.message().apiKey()).name(),
                    "version", found.version(), "data",
                    new Lines.Raw(MetadataJsonConverters.writeJson(found.message(), found.version()).toString()));
            batch.position(next);
        }
    }
}
