/*
 * Sets of replicas by Hadoop's own BlockPlacementPolicyDefault, for b23: servers in racks of a size, writers as given by
 * a generator, a set a block. Janino compiles this at run time; it knows no generics of methods and no lambdas.
 *
 * Arguments: servers, servers of a rack, sets, copies, a file for the sets (four bytes a server, big-endian).
 * Prints the microseconds of processor a set and how many sets lack copies.
 */
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Random;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicy;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockStoragePolicySuite;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeDescriptor;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.FSClusterStats;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.hdfs.server.protocol.StorageReport;
import org.apache.hadoop.net.NetworkTopology;

public class HadoopPlacement {
    private static final long BLOCK = 256L << 20;
    private static final long SPACE = 500L << 30;
    private static final int WARM = 20000;

    private static class Quiet implements FSClusterStats {
        public int getTotalLoad() { return 0; }
        public boolean isAvoidingStaleDataNodesForWrite() { return false; }
        public int getNumDatanodesInService() { return 1; }
        public double getInServiceXceiverAverage() { return 0.0; }
    }

    private static DatanodeDescriptor node(int at, int rack) {
        String name = "s" + at;
        DatanodeDescriptor made = new DatanodeDescriptor(
            new DatanodeID("10." + (at >> 16) + "." + (at >> 8 & 255) + "." + (at & 255), name, name, 1, 2, 3, 4),
            "/r" + rack);
        StorageReport[] disks = new StorageReport[] {
            new StorageReport(new DatanodeStorage("d" + at), false, SPACE, 0L, SPACE, 0L)};
        made.updateHeartbeat(disks, 0L, 0L, 0, 0, null);
        return made;
    }

    private static BlockPlacementPolicy policy(NetworkTopology racks) throws Exception {
        Method[] all = BlockPlacementPolicy.class.getMethods();
        for (int at = 0; at < all.length; at++) {
            if (all[at].getName().equals("getInstance")) {
                return (BlockPlacementPolicy) all[at].invoke(
                    null, new Object[] {new Configuration(), new Quiet(), racks, null});
            }
        }
        throw new IllegalStateException("no getInstance");
    }

    public static void main(String[] words) throws Exception {
        int servers = Integer.parseInt(words[0]), each = Integer.parseInt(words[1]);
        int sets = Integer.parseInt(words[2]), copies = Integer.parseInt(words[3]);
        NetworkTopology racks = new NetworkTopology();
        DatanodeDescriptor[] nodes = new DatanodeDescriptor[servers];
        for (int at = 0; at < servers; at++) {
            nodes[at] = node(at, at / each);
            racks.add(nodes[at]);
        }
        BlockPlacementPolicy policy = policy(racks);
        BlockStoragePolicy disks = BlockStoragePolicySuite.createDefaultSuite().getDefaultPolicy();
        Random writers = new Random(1);
        int[] found = new int[sets * copies];
        int lacking = 0;
        long begun = 0;
        for (int set = -WARM; set < sets; set++) {
            if (set == 0) {
                begun = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            }
            DatanodeDescriptor writer = nodes[writers.nextInt(servers)];
            DatanodeStorageInfo[] chosen = policy.chooseTarget(
                "/f", copies, writer, new ArrayList(), false, null, BLOCK, disks);
            for (int at = 0; set >= 0 && at < copies; at++) {
                boolean there = at < chosen.length;
                String name = there ? chosen[at].getDatanodeDescriptor().getHostName() : "s-1";
                found[set * copies + at] = Integer.parseInt(name.substring(1));
            }
            lacking += set >= 0 && chosen.length < copies ? 1 : 0;
        }
        long spent = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begun;
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(words[4])));
        for (int at = 0; at < found.length; at++) {
            out.writeInt(found[at]);
        }
        out.close();
        System.out.println(spent / 1000.0 / sets + " " + lacking);
    }
}
